import type { DagDefinition } from '@millrace/outbox';
import { type ChainBrief, chainDag, type Step } from './chain.js';
import { fanInDag } from './fan-in.js';
import { flatDag } from './millrace.js';

/** What a DAG is made of, in words that can be sent to another process. */
export type DagBrief =
  | ({ readonly kind: 'chain' } & ChainBrief)
  | { readonly kind: 'flat' | 'fan-in'; readonly tasks: number };

/** The DAG of a brief; the same in every process. */
export function dagOf(brief: DagBrief, onStep: (step: Step) => void = () => {}): DagDefinition {
  if (brief.kind === 'chain') return chainDag(brief, onStep);
  if (brief.kind === 'fan-in') return fanInDag(brief.tasks);
  return flatDag(brief.tasks, { effect: false, onTask: () => {} });
}
