import type { ReactNode } from 'react';
import { useNow } from '../data/live.js';
import { agoText, between, durationText, momentText } from '../rules/times.js';

/** How long ago something was; the exact time on hovering. */
export function Ago({ at }: { readonly at: string | null }): ReactNode {
  const now = useNow();
  if (at === null) return <span className="quiet">–</span>;
  return (
    <time className="number" dateTime={at} title={momentText(at)}>
      {agoText(at, now)}
    </time>
  );
}

/** How long something takes or took; it grows while it has not ended. */
export function Lasted({
  from,
  to,
}: {
  readonly from: string | null;
  readonly to: string | null;
}): ReactNode {
  const now = useNow();
  return <span className="number">{durationText(between(from, to, now))}</span>;
}
