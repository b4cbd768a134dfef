import { Lifecycle, type Service } from '@millrace/foundation';
import { type Heartbeat, INSTANCE_TTL_MS } from '../ports.js';
import { Bell } from './bell.js';
import type { PoolEnvironment } from './environment.js';
import { Loop } from './loop.js';

/** Heartbeats in the time an instance counts as alive: two may be lost. */
const HEARTBEATS_PER_TTL = 3;

/** Tells the store that this process lives and how many jobs it can take. */
export class Heartbeats implements Service {
  readonly #bell = new Bell();
  readonly #loop: Loop;
  readonly #lifecycle: Lifecycle;

  /**
   * @param environment - store, clock and logger count.
   * @param describe - what to say now.
   */
  constructor({ store, clock, log }: PoolEnvironment, describe: () => Heartbeat) {
    this.#loop = new Loop({
      name: 'Heartbeats',
      clock,
      log,
      bell: this.#bell,
      step: async () => {
        await store.instances.heartbeat(describe());
        return INSTANCE_TTL_MS / HEARTBEATS_PER_TTL;
      },
    });
    this.#lifecycle = new Lifecycle('Heartbeats', {
      start: () => this.#loop.start(),
      stop: async () => {
        await this.#loop.stop();
        await store.instances.leave(describe().id);
      },
    });
  }

  /** Begins with a heartbeat at once. */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /**
   * Says good-bye.
   * @throws MillraceError `BACKEND_UNAVAILABLE`: the instance is forgotten after `INSTANCE_TTL_MS` then.
   */
  stop(): Promise<void> {
    return this.#lifecycle.stop();
  }

  /** Says something now: the number of slots has changed. */
  beat(): void {
    this.#bell.ring();
  }

  /** The same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
