import { ERRORS as FOUNDATION_ERRORS, type MillraceError } from '@millrace/foundation';
import type { RedisConnection } from '@millrace/redis';
import { ERRORS } from '../errors.js';
import { type Pause, Pump } from './pump.js';
import type { QueueStore } from './store.js';
import { type Caller, WaiterQueue, type WaitLimits } from './waiter-queue.js';

interface Put {
  readonly id: string;
  readonly json: string;
}

/** What Redis knows of an item that was put. */
export interface PutReceipt {
  readonly id: string;
  readonly createdAt: Date;
}

/** What the putting side needs. */
export interface PuttersOptions {
  readonly name: string;
  readonly maxSize: number;
  readonly store: QueueStore;
  readonly connection: RedisConnection;
  onClosed(): void;
}

const BATCH_MAX = 100;
// More than one large payload per call would block Redis for too long.
const BATCH_CHARACTERS_MAX = 256 * 1024;

/**
 * The putting side of one client. Puts wait in one queue, and one call at a time carries as many as fit. A call without
 * a reply is repeated unchanged, under its number, until it has one or no caller waits for it.
 */
export class Putters {
  readonly #options: PuttersOptions;
  readonly #waiting: WaiterQueue<PutReceipt, Put>;
  readonly #pump: Pump;
  #sequence = 0;
  #batch: { readonly sequence: number; readonly callers: readonly Caller<PutReceipt, Put>[] } | undefined;
  /** The callers that waited when the call in progress was sent. */
  #present: readonly Caller<PutReceipt, Put>[] = [];
  #size = 0;

  constructor(options: PuttersOptions) {
    this.#options = options;
    const { clock, rng, callTimeoutMs } = options.connection.options;
    this.#waiting = new WaiterQueue({
      clock,
      callTimeoutMs,
      onTimeout: (caller) => caller.reject(this.#full()),
    });
    this.#pump = new Pump({
      clock,
      rng,
      markers: options.connection.markers,
      hasWork: () => this.#waiting.size > 0,
      step: () => this.#step(),
      onFailure: (error) => this.#failed(error),
    });
  }

  /** Puts one payload behind all that wait already. */
  put(id: string, json: string, limits: WaitLimits): Promise<PutReceipt> {
    const receipt = this.#waiting.join({ id, json }, limits);
    this.#pump.poke();
    return receipt;
  }

  /** Rejects every waiting caller. */
  refuseAll(error: unknown): void {
    for (const caller of this.#waiting.all()) this.#waiting.refuse(caller, error);
  }

  async #step(): Promise<Pause | undefined> {
    const { store } = this.#options;
    this.#batch ??= this.#nextBatch();
    const { sequence, callers } = this.#batch;
    this.#present = this.#waiting.all();
    const answer = await store.put(
      sequence,
      callers.map(({ data }) => data),
    );
    this.#batch = undefined;
    if (answer.kind === 'closed') {
      this.#options.onClosed();
      this.refuseAll(ERRORS.create('QUEUE_CLOSED', { queue: this.#options.name }));
      return undefined;
    }
    const accepted = answer.kind === 'put' ? answer.accepted : 0;
    if (answer.kind === 'put') {
      const { createdAt } = answer;
      for (const caller of callers.slice(0, accepted)) {
        this.#waiting.settle(caller, { id: caller.data.id, createdAt });
      }
      if (accepted === callers.length) return undefined;
    }
    // Callers behind one that found no room have none either.
    this.#size = answer.kind === 'full' ? answer.size : this.#options.maxSize;
    this.#waiting.answer(this.#present.filter((caller) => this.#waiting.has(caller)));
    return { marker: store.key('room'), ms: Infinity };
  }

  #nextBatch(): { sequence: number; callers: Caller<PutReceipt, Put>[] } {
    const callers: Caller<PutReceipt, Put>[] = [];
    let characters = 0;
    for (const caller of this.#waiting.all()) {
      characters += caller.data.json.length;
      if (callers.length === BATCH_MAX || (callers.length > 0 && characters > BATCH_CHARACTERS_MAX)) break;
      caller.bound = true;
      callers.push(caller);
    }
    return { sequence: ++this.#sequence, callers };
  }

  #failed(error: unknown): void {
    if ((error as MillraceError).retryable !== true) {
      this.#batch = undefined;
      this.refuseAll(error);
      return;
    }
    this.#waiting.fail(this.#present, error);
    // No caller waits for the reply any more. The number of the next call makes a late copy of this one void.
    if (!this.#batch?.callers.some((caller) => this.#waiting.has(caller))) this.#batch = undefined;
  }

  #full(): MillraceError {
    return ERRORS.create('QUEUE_FULL', { queue: this.#options.name, size: this.#size });
  }
}

/** The error of a queue that has been stopped in this process. */
export const stoppedError = (name: string): MillraceError =>
  FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: `The queue ${name}` });
