import { NonRetryableError, RateLimitedError } from '@millrace/foundation';
import type { Job, JobContext, JobProcessor } from '../../src/processor.js';
import type { Chaos, Tally } from './chaos.js';
import type { Scheduler, SimProcess } from './scheduler.js';

/** What one try does. */
export const BEHAVIOURS = [
  'succeeds',
  'fails',
  'fails for good',
  'answers with a failure',
  'is throttled',
  'is throttled for a time',
  'runs past the lease',
  'returns after the abort',
  'ignores the abort',
  'never settles',
  'asks for its lease',
  'throws undefined',
  'kills the process',
] as const;
/** See the constant. */
export type Behaviour = (typeof BEHAVIOURS)[number];

/** What a job of the simulation carries: what each of its tries does; the last counts for all that follow. */
export interface JobScript {
  readonly tries: readonly Behaviour[];
  /** How long a try takes. */
  readonly ms: number;
}

/** One execution of a job, written by its processor and never by the engine. */
export interface LedgerEntry {
  readonly job: string;
  readonly attempt: number;
  readonly process: string;
  readonly idempotencyKey: string;
  readonly at: number;
  end?: number;
}

/** All executions of a run. */
export class Ledger {
  readonly entries: LedgerEntry[] = [];

  begin(entry: LedgerEntry): LedgerEntry {
    this.entries.push(entry);
    return entry;
  }
}

/** What the processors of one process need. */
export interface ProcessorParts {
  readonly process: SimProcess;
  readonly scheduler: Scheduler;
  readonly chaos: Chaos;
  readonly tally: Tally;
  readonly ledger: Ledger;
  readonly leaseMs: number;
  kill(process: SimProcess): void;
}

/** The type that every instance can run, and one that only some have. */
export const COMMON_TYPE = 'COMMON';
export const RARE_TYPE = 'RARE';

/** Processors that do what the script of each job says. */
export function scriptedProcessors(parts: ProcessorParts, types: readonly string[]): JobProcessor[] {
  return types.map((type) => ({
    type,
    process: (job, context) => new Try(parts, job as Job<JobScript>, context).run(),
  }));
}

class Try {
  readonly #parts: ProcessorParts;
  readonly #job: Job<JobScript>;
  readonly #context: JobContext;

  constructor(parts: ProcessorParts, job: Job<JobScript>, context: JobContext) {
    this.#parts = parts;
    this.#job = job;
    this.#context = context;
  }

  async run(): Promise<unknown> {
    const { scheduler, tally, ledger, chaos, process } = this.#parts;
    const { attempt, idempotencyKey } = this.#context;
    const { payload, groupId, id } = this.#job;
    const behaviour = payload.tries[Math.min(attempt, payload.tries.length) - 1] ?? 'succeeds';
    const name = `${groupId}#${id}`;
    scheduler.log.write(`  ${process.name} runs ${name} try ${attempt}: ${behaviour}`);
    tally.count(behaviour);
    const entry = ledger.begin({
      job: name,
      attempt,
      process: process.name,
      idempotencyKey,
      at: scheduler.time,
    });
    const killAfter = chaos.killInJob(payload.ms);
    if (killAfter !== undefined) scheduler.schedule(process, killAfter, 'dies', () => this.#die());
    try {
      return await this.#behave(behaviour);
    } finally {
      entry.end = scheduler.time;
    }
  }

  async #behave(behaviour: Behaviour): Promise<unknown> {
    const { leaseMs, chaos } = this.#parts;
    await this.#wait(this.#job.payload.ms, behaviour !== 'ignores the abort');
    switch (behaviour) {
      case 'succeeds':
        return { done: this.#job.id };
      case 'fails':
        throw new Error(`failed in try ${this.#context.attempt}`);
      case 'fails for good':
        throw new NonRetryableError('cannot work');
      case 'answers with a failure':
        return { success: false, error: { message: 'no', code: 'NO', retryable: true } };
      case 'is throttled':
        throw new RateLimitedError();
      case 'is throttled for a time':
        throw new RateLimitedError({ retryAfterMs: 300 });
      case 'runs past the lease':
        await this.#wait(leaseMs * 1.5, true);
        return { done: 'late' };
      case 'returns after the abort':
        await this.#aborted();
        await this.#wait(100, false);
        return { done: 'after the abort' };
      case 'ignores the abort':
        await this.#wait(leaseMs * 2.5, false);
        return { done: 'deaf' };
      case 'asks for its lease':
        return { held: await this.#context.heartbeat() };
      case 'never settles':
        return new Promise(() => {});
      case 'throws undefined':
        throw undefined;
      case 'kills the process':
        if (chaos.on) {
          chaos.note('killed by the job');
          this.#die();
          return new Promise(() => {});
        }
        return { done: 'harmless' };
    }
  }

  #die(): void {
    this.#parts.kill(this.#parts.process);
  }

  /** Waits on the process's own clock; an abort ends the wait with its reason, as a well-behaved client would. */
  #wait(ms: number, abortable: boolean): Promise<void> {
    const { signal } = this.#context;
    return new Promise((resolve, reject) => {
      const { clock } = this.#parts.process;
      const cancel = clock.setTimer(ms, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = () => {
        cancel();
        reject(signal.reason);
      };
      if (!abortable) return;
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #aborted(): Promise<void> {
    const { signal } = this.#context;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }
}
