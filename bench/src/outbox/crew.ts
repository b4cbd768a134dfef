import type { Side } from '../measure.js';
import { type DagBrief, dagOf } from './dag-brief.js';
import { ANY_BATCH_OPEN, emptyOutbox, type OpenOutbox, openOutbox } from './millrace.js';
import { type PollerProcess, startPoller } from './poller-process.js';
import { administer, databaseUrl, drained } from './server.js';

/** How many poller processes there are, and what they can run. */
interface CrewBrief {
  readonly pollers: number;
  /** Of each. */
  readonly concurrency: number;
  readonly dags: readonly DagBrief[];
}

/**
 * Poller processes that run one batch after the other, of this kind or that. They stay from the first sample to `close`, because in the first
 * seconds of a process most of its time is spent on loading and compiling.
 */
export class Crew {
  readonly #brief: CrewBrief;
  readonly #processes: PollerProcess[] = [];
  #opened: Promise<OpenOutbox> | undefined;
  #batches = 0;

  constructor(brief: CrewBrief) {
    this.#brief = brief;
  }

  /**
   * One batch, from the call that starts it, while all pollers poll, until it has ended; nanoseconds per task.
   */
  running(name: string, dag: DagBrief): Side {
    return {
      name,
      sample: async () => {
        this.#opened ??= this.#open();
        const { outbox } = await this.#opened;
        // The rows of the batches before stay, as they do for days in production; only what is dead goes.
        await administer('VACUUM (ANALYZE)');
        await administer('CHECKPOINT');
        const startedAt = process.hrtime.bigint();
        const { id } = await outbox.pusher.start(dagOf(dag).name, `batch-${this.#batches++}`);
        await drained(ANY_BATCH_OPEN);
        const elapsed = Number(process.hrtime.bigint() - startedAt);
        const { status, taskCount } = await outbox.batches.get(id);
        if (status !== 'DONE') throw new Error(`batch ${id} has ended as ${status}`);
        return elapsed / taskCount;
      },
    };
  }

  /** Ends the processes. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.splice(0).map((poller) => poller.stop()));
    await (await this.#opened)?.close();
    this.#opened = undefined;
  }

  async #open(): Promise<OpenOutbox> {
    await emptyOutbox();
    const { pollers, ...brief } = this.#brief;
    const opened = await openOutbox({ poll: false, dags: brief.dags.map((dag) => dagOf(dag)) });
    await opened.outbox.start();
    const url = await databaseUrl();
    const start = async () => this.#processes.push(await startPoller({ ...brief, url }));
    // All of them are waited for even if one fails: `close` has to know those that run.
    const started = await Promise.allSettled(Array.from({ length: pollers }, start));
    const failed = started.find((outcome) => outcome.status === 'rejected');
    if (failed) {
      await opened.close();
      throw failed.reason;
    }
    return opened;
  }
}
