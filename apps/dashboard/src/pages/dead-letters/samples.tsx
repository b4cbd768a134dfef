import type { ReactNode } from 'react';
import { useAsk } from '../../data/ask.js';
import { ProblemNote } from '../../parts/said.js';
import { LetterRow } from './letter-row.js';

const SAMPLES = 5;

/** The newest letters of a cause. */
export function Samples({
  signature,
  groupId,
  count,
}: {
  readonly signature: string;
  readonly groupId: string | undefined;
  readonly count: number;
}): ReactNode {
  const { data, error } = useAsk('listDeadLetters', { query: { signature, groupId, limit: SAMPLES } });
  if (error && !data) return <ProblemNote error={error} />;
  if (!data)
    return (
      <div
        className="dead-letters-rows-awaited"
        style={{ height: 56 * Math.min(SAMPLES, count) }}
        role="status"
      />
    );
  return (
    <ul className="dead-letters-rows" aria-label="The newest letters">
      {data.items?.map((letter) => (
        <LetterRow key={`${letter.job.groupId} ${letter.job.id}`} letter={letter} />
      ))}
    </ul>
  );
}
