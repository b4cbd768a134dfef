import type { ReactNode } from 'react';
import { RANGES, type Range } from '../data/stats.js';
import { Segments } from './field.js';

/** What happened in a time that is chosen. */
export interface OverTimeProps {
  readonly range: Range;
  readonly onChoose: (id: string) => void;
  readonly children: ReactNode;
}

/** A part of a page about the last hours, with the choice of how far it looks back. */
export function OverTime({ range, onChoose, children }: OverTimeProps): ReactNode {
  return (
    <section className="stack" aria-label="The last hours">
      <div className="row spread">
        <h2>Over time</h2>
        <Segments
          label="Time range"
          value={range.id}
          options={RANGES.map(({ id, name }) => [id, name])}
          onChoose={onChoose}
        />
      </div>
      {children}
    </section>
  );
}
