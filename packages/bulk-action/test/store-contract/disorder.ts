import { type Rng, seededRng } from '@millrace/foundation';
import { expect, it } from 'vitest';
import type { LeasedJob, Settlement } from '../../src/lease.js';
import { hasEnded } from '../../src/states.js';
import { expectConservation } from './conservation.js';
import {
  deadly,
  failure,
  fill,
  group,
  Instance,
  jobs,
  listed,
  numbers,
  type OpenStore,
  retry,
  type StoreHarness,
  success,
  viewOf,
} from './tools.js';

const KEYS = ['a/one', 'a/two', 'b/one', '/one'];
const STEPS = 250;

/** One seeded walk: what was asked, and what is believed to be held. */
class Walk {
  readonly #instances: readonly Instance[];
  #held: LeasedJob[] = [];
  #batches = 0;

  constructor(
    readonly harness: StoreHarness,
    readonly rng: Rng,
  ) {
    this.#instances = ['one', 'two'].map((id) => new Instance(harness, id, 20));
  }

  readonly steps: readonly (() => Promise<void>)[] = [
    () => this.#add(),
    () => this.#take(),
    () => this.#take(),
    () => this.#settle(),
    () => this.#settle(),
    () => this.#giveBack(),
    () => this.harness.advance(this.rng.integer(0, 20_000)),
    () => this.#recover(),
    () => this.#dispatch(),
    () => this.#toggle(),
    () => this.#limit(),
    () => this.#redrive(),
  ];

  /** Calls once, or twice as after a lost answer. */
  async #maybeTwice<T>(call: () => Promise<T>): Promise<T> {
    const answer = await call();
    if (this.rng.chance(0.3)) await call();
    return answer;
  }

  async #add(): Promise<void> {
    const key = this.rng.pick(KEYS);
    const batch = jobs(this.rng.integer(1, 6), { cost: this.rng.integer(1, 3) }, `b${this.#batches++}-`);
    await this.#maybeTwice(() => this.harness.store.groups.add(group(key), batch, batch.length));
  }

  async #take(): Promise<void> {
    const instance = this.rng.pick(this.#instances);
    await instance.fetch(this.rng.integer(1, 8));
    const leases = await instance.reserve(this.rng.integer(1, 8));
    const { leases: port } = this.harness.store;
    if (this.rng.chance(0.3)) {
      const again = await port.reserve({ instanceId: instance.id, seq: instance.seq, max: 8 });
      expect(again.jobs.map(({ token }) => token)).toEqual(leases.map(({ token }) => token));
    }
    this.#held.push(...leases);
  }

  #report(lease: LeasedJob): Settlement {
    const make = this.rng.pick([success, success, retry, failure, deadly]);
    return make === retry ? retry(lease, { delayMs: this.rng.integer(1, 30_000) }) : make(lease);
  }

  async #settle(): Promise<void> {
    const some = this.#held.filter(() => this.rng.chance(0.4));
    this.#held = this.#held.filter((lease) => !some.includes(lease) || this.rng.chance(0.1));
    const reports = some.map((lease) => this.#report(lease));
    const answers = await this.#maybeTwice(() => this.harness.store.leases.settle(reports));
    expect(answers.map(({ status }) => status).filter((status) => status === 'gone')).toEqual([]);
  }

  async #giveBack(): Promise<void> {
    const some = this.#held.filter(() => this.rng.chance(0.2));
    this.#held = this.#held.filter((lease) => !some.includes(lease));
    await this.#maybeTwice(() => this.harness.store.leases.giveBack(some));
    if (this.rng.chance(0.1)) await this.harness.store.leases.giveBackAll('two', 3);
  }

  async #recover(): Promise<void> {
    if (this.rng.chance(0.5)) await this.harness.store.leases.renew(this.#held);
    else
      await this.#maybeTwice(() => this.harness.store.leases.recover(numbers(3).map(() => this.rng.next())));
  }

  async #dispatch(): Promise<void> {
    await this.#maybeTwice(() => this.harness.store.gate.dispatch(this.rng.integer(1, 10)));
  }

  async #toggle(): Promise<void> {
    const { groups } = this.harness.store;
    const key = this.rng.pick(KEYS);
    if (this.rng.chance(0.3)) await this.#maybeTwice(() => groups.pause(key));
    else await this.#maybeTwice(() => groups.resume(key));
  }

  async #limit(): Promise<void> {
    const { groups } = this.harness.store;
    const concurrency = this.rng.pick([null, 1, 5]);
    const rps = this.rng.pick([null, 5, 50]);
    await this.#maybeTwice(() => groups.update(this.rng.pick(KEYS), { concurrency, rps }));
    await groups.updateTenant(this.rng.pick(['a', 'b']), {
      concurrency,
      rps,
      weight: this.rng.integer(1, 5),
    });
  }

  async #redrive(): Promise<void> {
    await this.#maybeTwice(() => this.harness.store.deadLetters.redrive({}, 2));
  }

  /** Lets everything run to its end. */
  async finish(): Promise<void> {
    const { store } = this.harness;
    for (const key of KEYS) {
      await store.groups.resume(key);
      await store.groups.seal(key);
    }
    for (let rounds = 0; rounds < 500; rounds++) {
      const open = await Promise.all(KEYS.map((key) => viewOf(this.harness, key)));
      if (open.every(({ status }) => hasEnded(status))) return;
      await this.harness.advance(20_000);
      await store.leases.recover(numbers(50).map(() => 0.5));
      await store.gate.dispatch(100);
      await this.#instances[0]?.finish();
    }
    throw new Error('expected every group to end');
  }
}

/** Everything at once, in seeded disorder. */
export function disordering(open: OpenStore, seeds: readonly number[]): void {
  it.each(seeds)('every job ends exactly once, and every count agrees on the way (seed %i)', async (seed) => {
    const harness = await open({ reliableQueue: { maxOrphanCount: 5 } });
    const walk = new Walk(harness, seededRng(seed));
    for (const key of KEYS) await fill(harness, group(key), 5);
    for (let n = 0; n < STEPS; n++) {
      await walk.rng.pick(walk.steps)();
      if (n % 25 === 0) await expectConservation(harness);
    }
    await walk.finish();
    for (const key of KEYS) {
      const { counts, status } = await viewOf(harness, key);
      expect(status).toBe('COMPLETED');
      expect(counts.success + counts.failed).toBe(counts.registered);
      const result = await harness.store.views.result(key);
      expect(result).toMatchObject({
        total: counts.registered,
        success: counts.success,
        failed: counts.failed,
      });
      const ended = await listed((cursor) => harness.store.views.jobs(key, {}, 100, cursor));
      for (const { status: end } of ended) expect(['COMPLETED', 'FAILED']).toContain(end);
    }
  });
}
