import type { ReactNode } from 'react';
import { ShareBar, type ShareBarProps } from '../../parts/share-bar.js';
import { NOTHING, percentText } from '../../rules/amounts.js';

/** A cell of two lines: a value and a note. */
export function Two({ first, second }: { readonly first: ReactNode; readonly second: ReactNode }): ReactNode {
  return (
    <div className="groups-two">
      <div>{first}</div>
      <div className="small quiet number">{second}</div>
    </div>
  );
}

/** A cell of limits, which shows the first and the last. Its tooltip lists all. */
export function Limits({ texts }: { readonly texts: readonly string[] }): ReactNode {
  const [first = NOTHING, ...others] = texts;
  const line = <span className="small">{first}</span>;
  if (others.length === 0) return line;
  return (
    <div title={texts.join(', ')}>
      <Two first={line} second={others.at(-1)} />
    </div>
  );
}

/** The props of a share cell. */
export interface ShareCellProps extends ShareBarProps {
  /** True if the numbers stand below the bar. */
  readonly isStacked?: boolean;
}

/** A cell of a share: a bar and numbers, compared with the fair share. A fair share of 0 means that nothing is requested now. */
export function ShareCell({ isStacked = false, ...props }: ShareCellProps): ReactNode {
  const { share, fairShare, tone } = props;
  return (
    <div className={`groups-share${isStacked ? ' stacked' : ''}`}>
      <ShareBar {...props} />
      <span className={`number small groups-share-text${tone === 'hold' ? ' tone-hold' : ''}`}>
        <b>{percentText(share)}</b> {fairShare > 0 ? `of ${percentText(fairShare)}` : 'idle'}
      </span>
    </div>
  );
}
