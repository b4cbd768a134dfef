import type { ReactNode } from 'react';
import { ShareBar, type ShareBarProps } from '../../parts/share-bar.js';
import { percentText } from '../../rules/amounts.js';

/** A share in a table. */
export interface ShareCellProps extends ShareBarProps {
  /** The numbers stand below the bar, where there is little room. */
  readonly isStacked?: boolean;
}

/** A share as a bar and in numbers, against the fair one; nothing is due to those who want nothing, though they got something just now. */
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
