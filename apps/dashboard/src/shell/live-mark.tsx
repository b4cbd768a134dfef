import type { ReactNode } from 'react';
import { useLive } from '../data/live.js';

const TEXTS = {
  live: 'Live',
  connecting: 'Connecting',
  lost: 'No connection',
  refused: 'Not live',
  paused: 'Paused',
} as const;

/** Whether what is shown is what is. */
export function LiveMark(): ReactNode {
  const { status } = useLive();
  return (
    <span className={`live-mark ${status}`} role="status">
      <span className="live-dot" aria-hidden="true" />
      {TEXTS[status]}
    </span>
  );
}
