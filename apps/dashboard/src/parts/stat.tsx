import { Children, type CSSProperties, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { Tone } from '../rules/tones.js';
import './stat.css';

/** One number that people look for. */
export interface StatProps {
  readonly label: string;
  readonly value: ReactNode;
  readonly unit?: string | undefined;
  /** What helps to judge it. */
  readonly note?: ReactNode;
  /** Coloured only when somebody should look. */
  readonly tone?: Tone | undefined;
  readonly href?: string | undefined;
}

/** A number with its name. */
export function Stat({ label, value, unit, note, tone, href }: StatProps): ReactNode {
  const inner = (
    <>
      <span className="stat-label">{label}</span>
      <span className={`stat-value number${tone ? ` tone-${tone}` : ''}`}>
        {value}
        {unit && <span className="stat-unit"> {unit}</span>}
      </span>
      <span className="stat-note small quiet number">{note ?? ' '}</span>
    </>
  );
  return href ? (
    <Link className="stat" href={href}>
      {inner}
    </Link>
  ) : (
    <div className="stat">{inner}</div>
  );
}

/** Numbers side by side. */
export function Stats({
  children,
  label,
}: {
  readonly children: ReactNode;
  readonly label: string;
}): ReactNode {
  return (
    <section
      className="stats"
      aria-label={label}
      style={{ '--stats': Children.count(children) } as CSSProperties}
    >
      {children}
    </section>
  );
}

/** Shows the properties of one thing as names and values. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ReactNode] | false | undefined)[];
}): ReactNode {
  return (
    <dl className="facts">
      {facts
        .filter((fact) => fact !== false && fact !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
