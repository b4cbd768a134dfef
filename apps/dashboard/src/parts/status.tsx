import type { ReactNode } from 'react';
import { statusText, type Tone, toneOf } from '../rules/tones.js';
import './status.css';

/** The state of something, in a word and a colour. */
export function Status({
  status,
  tone = toneOf(status),
}: {
  readonly status: string;
  readonly tone?: Tone;
}): ReactNode {
  return (
    <span className={`status tone-bg-${tone}`}>
      <span className={`status-mark mark-${tone}`} aria-hidden="true" />
      {statusText(status)}
    </span>
  );
}

/** Any few words that carry a meaning. */
export function Tag({
  tone = 'wait',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ReactNode;
}): ReactNode {
  return <span className={`status tone-bg-${tone}`}>{children}</span>;
}
