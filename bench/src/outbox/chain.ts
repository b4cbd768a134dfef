import { type DagDefinition, defineDag, task } from '@millrace/outbox';

/** When the handler of one step ran; microseconds of the machine's monotonic clock, which its processes share. */
export interface Step {
  readonly batch: string;
  readonly index: number;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** What a chain is made of; the same in every process. */
export interface ChainBrief {
  readonly mode: 'transactional' | 'external';
  readonly length: number;
}

const now = () => Number(process.hrtime.bigint()) / 1000;

/** Steps that follow each other, none of which does anything. */
export function chainDag({ mode, length }: ChainBrief, onStep: (step: Step) => void): DagDefinition {
  const stepAt = (index: number) => {
    const after = index === 0 ? [] : [`step-${index - 1}`];
    const run = ({ batch }: { readonly batch: { readonly bizKey: string } }) => {
      const startedAt = now();
      onStep({ batch: batch.bizKey, index, startedAt, endedAt: now() });
    };
    return mode === 'external' ? task({ mode, after, run }) : task({ after, run });
  };
  const steps = Array.from({ length }, (_, index) => [`step-${index}`, stepAt(index)] as const);
  return defineDag(`chain-${mode}`, steps);
}

/**
 * The waits between the steps of each batch.
 * @throws Error when one is missing or ran twice: the waits around it would not be those of one step.
 */
export function waitsBetween(steps: readonly Step[]): number[] {
  const ordered = [...steps].sort((a, b) => a.batch.localeCompare(b.batch) || a.index - b.index);
  return ordered.flatMap((step, position) => {
    const before = ordered[position - 1];
    if (before?.batch !== step.batch) return [];
    if (step.index !== before.index + 1)
      throw new Error(`step ${before.index + 1} of '${step.batch}' was not reported once`);
    return [step.startedAt - before.endedAt];
  });
}
