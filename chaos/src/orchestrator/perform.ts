import { wait } from '@millrace/async-utils';
import { type Command, type InlineContext, inline, type Routes } from '@millrace/orchestrator';
import { batch } from '@millrace/orchestrator/batch';
import { type DagDefinition, defineDag, task } from '@millrace/outbox';
import type { Ledger } from '@millrace/testkit/ledger';
import { DOMAIN, type WorkEvent, type WorkPayload } from './plan.js';
import type { AtStep } from './stepped-store.js';
import { INSERT_EFFECT } from './tables.js';

/** The tasks of a batch: one, and two after it. */
export const TASKS = ['first', 'left', 'right'] as const;

const DAG = 'work';
/** Enough for the planned failures; lost tries count, too. */
const FLAKY_RETRIES = 4;

/** Does the work of commands in one process: each run writes the ledger before and after its effect. */
export class Performer {
  readonly #ledger: Ledger;
  readonly #at: AtStep;
  #runs = 0;

  constructor(ledger: Ledger, at: AtStep) {
    this.#ledger = ledger;
    this.#at = at;
  }

  /** Where commands go. */
  get routes(): Routes {
    const run = (command: Command, context: InlineContext) => this.#run(command, context);
    const routes: Readonly<Record<WorkEvent, Routes[string]>> = {
      AGAIN: inline(run),
      ONCE: inline(run, { onLost: 'fail' }),
      FLAKY: inline(run, { retry: { retries: FLAKY_RETRIES } }),
      REFUSED: inline(run, { protect: { bulkhead: { concurrency: 1 } } }),
      BATCH: batch(DAG),
      ERRAND: { kind: 'errand', definition: {}, options: { idempotent: true } },
    };
    return Object.fromEntries(Object.entries(routes).map(([event, route]) => [`${DOMAIN}.${event}`, route]));
  }

  /** What a batch is. */
  get dag(): DagDefinition {
    const step = (key: string, after: readonly string[]) =>
      task<WorkPayload>({
        after,
        run: async ({ tx, payload, batch: { bizKey }, signal }) => {
          await tx.query(INSERT_EFFECT, [bizKey, key]);
          await wait(payload.ms / TASKS.length, { signal });
        },
      });
    const [first, ...others] = TASKS;
    return defineDag(DAG, [
      [first, step(first, [])],
      ...others.map((key) => [key, step(key, [first])] as const),
    ]);
  }

  async #run(command: Command, { opId, attempt, signal }: InlineContext): Promise<{ readonly run: string }> {
    const { ms, heedless, failures } = command.payload as WorkPayload;
    const run = `${process.pid}-${++this.#runs}`;
    const note = (kind: string, fields: object = {}) =>
      this.#ledger.append({ kind, run, op: opId, ...fields });
    note('began', { event: command.eventType, attempt });
    try {
      this.#at('in handler before effect', opId);
      await wait(ms, heedless ? {} : { signal });
      if (attempt <= failures) throw new Error('the first tries fail');
      note('effect');
      this.#at('in handler after effect', opId);
      note('ended', { how: 'done' });
      return { run };
    } catch (error) {
      note('ended', { how: 'failed', error: String(error).slice(0, 200) });
      throw error;
    }
  }
}
