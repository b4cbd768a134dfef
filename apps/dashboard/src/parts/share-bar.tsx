import type { ReactNode } from 'react';
import { percentText } from '../rules/amounts.js';
import { shareTone } from '../rules/shares.js';
import type { Tone } from '../rules/tones.js';
import './share-bar.css';

/** What somebody gets, and what is theirs. */
export interface ShareBarProps {
  readonly name: string;
  readonly share: number;
  readonly fairShare: number;
  /** The longest bar beside this one: all have one scale. */
  readonly longest: number;
  /** What it means, where more is known than these two numbers. */
  readonly tone?: Tone | undefined;
}

/** A share as a bar, with a mark where the fair share ends. */
export function ShareBar({
  name,
  share,
  fairShare,
  longest,
  tone = shareTone(share, fairShare),
}: ShareBarProps): ReactNode {
  const whole = Math.max(longest, 0.01);
  const at = (part: number) => `${Math.min(100, (part / whole) * 100)}%`;
  return (
    <div
      className="share-bar"
      role="img"
      aria-label={`${name} gets ${percentText(share)}, its fair share is ${percentText(fairShare)}`}
    >
      <span className={`share-fill fill-${tone}`} style={{ width: at(share) }} />
      {fairShare > 0 && <span className="share-fair" style={{ left: at(fairShare) }} />}
    </div>
  );
}
