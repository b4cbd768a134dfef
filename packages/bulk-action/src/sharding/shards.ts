import { type Logger, toWorkError } from '@millrace/foundation';
import type { GroupKey } from '../model.js';
import { report } from '../pool/report.js';
import { jumpHash } from '../rules/jump-hash.js';
import { homeNameOf } from '../rules/shard-homes.js';
import type { BulkShard } from '../shard-port.js';

/** Names whose shard is remembered: a hash takes 1 µs, and every job asks three times. */
const NAMES_MAX = 10_000;

/** A group that nobody has: asking for it shows whether a shard answers. */
const NOBODYS_GROUP = '/-';

/**
 * The shards, and which of them work. One that has failed is not waited for again until it answers: a call that goes to all of them
 * would take as long as the slowest, and the work of the others would wait for a shard that is gone.
 */
export class Shards {
  readonly stores: readonly BulkShard[];
  readonly #log: Logger;
  readonly #names = new Map<string, number>();
  /** Those that have failed, with the question whether they are back. */
  readonly #failed = new Map<number, Promise<void> | undefined>();

  /**
   * @param stores - the shards in their order, the same in every process.
   * @param log - told of shards that fail and come back.
   */
  constructor(stores: readonly BulkShard[], log: Logger) {
    this.stores = stores;
    this.#log = log;
  }

  /** How many there are. */
  get count(): number {
    return this.stores.length;
  }

  /** One of them. */
  at(shard: number): BulkShard {
    return this.stores[shard] as BulkShard;
  }

  /** The shard of a tenant, or of anything else that has a name. */
  of(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const shard = jumpHash(name, this.count);
    if (this.#names.size >= NAMES_MAX) this.#names.clear();
    this.#names.set(name, shard);
    return shard;
  }

  /** The shard that the key of a group names. */
  homeOf(key: GroupKey): number {
    return this.of(homeNameOf(key));
  }

  /** Whether it answered last time, or has not been asked. */
  works(shard: number): boolean {
    return !this.#failed.has(shard);
  }

  /** Notes that a shard has not answered. */
  fail(shard: number, error: unknown): void {
    if (this.#failed.has(shard)) return;
    this.#failed.set(shard, undefined);
    const { code, message } = toWorkError(error);
    const fields = { shard, code, err: error };
    report(this.#log, 'warn', fields, `Shard ${shard} does not answer, the others go on: ${message}`);
  }

  /**
   * Asks those that failed whether they are back, each once at a time.
   * @returns resolves when all have answered or failed again; nobody has to wait for it.
   */
  async revive(): Promise<void> {
    const questions = [...this.#failed].map(([shard, asked]) => {
      const question = asked ?? this.#revive(shard);
      this.#failed.set(shard, question);
      return question;
    });
    await Promise.all(questions);
  }

  /**
   * Calls every shard at once; all must answer.
   * @throws what the first of them threw, when all have ended.
   */
  all<T>(call: (store: BulkShard, shard: number) => Promise<T>): Promise<T[]> {
    return together(this.stores.map((store, shard) => call(store, shard)));
  }

  /**
   * Calls every shard that works.
   * @returns the answers of those that gave one.
   * @throws what the first of them threw, when none gave one.
   */
  async working<T>(call: (store: BulkShard, shard: number) => Promise<T>): Promise<T[]> {
    const asked = await this.#asked();
    const outcomes = await Promise.allSettled(asked.map((shard) => call(this.at(shard), shard)));
    const answers: T[] = [];
    let failure: PromiseRejectedResult | undefined;
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') answers.push(outcome.value);
      else {
        this.fail(asked[index] as number, outcome.reason);
        failure ??= outcome;
      }
    }
    if (answers.length === 0 && failure) throw failure.reason;
    return answers;
  }

  /** Those that work; when none does, those that are back, or all: somebody has to say why. */
  async #asked(): Promise<readonly number[]> {
    const everyone = [...this.stores.keys()];
    const reviving = this.revive();
    if (this.#failed.size === this.count) await reviving;
    const working = everyone.filter((shard) => this.works(shard));
    return working.length > 0 ? working : everyone;
  }

  async #revive(shard: number): Promise<void> {
    try {
      await this.at(shard).shard.locate(NOBODYS_GROUP);
    } catch {
      this.#failed.set(shard, undefined);
      return;
    }
    this.#failed.delete(shard);
    report(this.#log, 'info', { shard }, `Shard ${shard} answers again`);
  }
}

/**
 * Waits for all, also when one has failed: nothing goes on behind the back of whoever is told of the failure.
 * @param promises - any number.
 * @throws what the first of them threw.
 */
export async function together<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(promises);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
