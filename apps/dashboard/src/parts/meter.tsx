import type { ReactNode } from 'react';
import { countText } from '../rules/amounts.js';
import type { Tone } from '../rules/tones.js';
import './meter.css';

/** A part of a whole. */
export interface MeterPart {
  readonly label: string;
  readonly value: number;
  readonly tone: Tone;
}

/** How a whole is divided. */
export interface MeterProps {
  readonly parts: readonly MeterPart[];
  /** The whole; the sum of the parts unless given. What is left of it stays empty. */
  readonly total?: number | undefined;
  readonly label: string;
  readonly size?: 'thin' | 'thick';
}

/** A bar that shows how a whole is divided, and says so to those who do not see it. */
export function Meter({ parts, total, label, size = 'thin' }: MeterProps): ReactNode {
  const whole = Math.max(1, total ?? parts.reduce((sum, { value }) => sum + value, 0));
  const shown = parts.filter(({ value }) => value > 0);
  const text = shown.map(({ label: name, value }) => `${countText(value)} ${name}`).join(', ');
  return (
    <div className={`meter ${size}`} role="img" aria-label={`${label}: ${text || 'nothing'}`} title={text}>
      {shown.map(({ label: name, value, tone }) => (
        <span
          key={name}
          className={`meter-part fill-${tone}`}
          style={{ width: `${(value / whole) * 100}%` }}
        />
      ))}
    </div>
  );
}

/** What the colours of a meter mean, with the numbers. */
export function MeterLegend({ parts }: { readonly parts: readonly MeterPart[] }): ReactNode {
  return (
    <ul className="meter-legend small">
      {parts.map(({ label, value, tone }) => (
        <li key={label}>
          <span className={`swatch fill-${tone}`} aria-hidden="true" />
          <span className="number">{countText(value)}</span> <span className="quiet">{label}</span>
        </li>
      ))}
    </ul>
  );
}
