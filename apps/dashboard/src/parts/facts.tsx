import type { ReactNode } from 'react';
import './facts.css';

/** What is known of one thing, name by name. */
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
