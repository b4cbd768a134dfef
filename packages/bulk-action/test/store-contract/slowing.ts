import { expect, it } from 'vitest';
import type { LeasedJob, Settlement } from '../../src/lease.js';
import {
  fill,
  group,
  Instance,
  type OpenStore,
  placeOf,
  retry,
  type StoreHarness,
  success,
} from './tools.js';

/** As the pool reports a 429. */
const refused = (lease: LeasedJob, retryAfterMs?: number): Settlement =>
  retry(lease, {
    reason: 'API_THROTTLED',
    spendsRetry: false,
    delayMs: 1000,
    throttle: { random: 0, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  });

/** Takes turns for so many slots, in steps of 10 ms; `answer` says what the service does with each. */
class Caller {
  #seq = 0;
  readonly starts: { readonly key: string; readonly at: number }[] = [];

  constructor(
    readonly harness: StoreHarness,
    readonly answer: (lease: LeasedJob) => Settlement,
  ) {}

  async run(forMs: number, max = 10): Promise<void> {
    const { leases } = this.harness.store;
    for (let passed = 0; passed < forMs; passed += 10) {
      this.#seq += 1;
      const { jobs } = await leases.reserve({ instanceId: 'one', seq: this.#seq, max, turns: max });
      const at = await this.harness.now();
      for (const { key } of jobs) this.starts.push({ key, at });
      await this.harness.advance(10);
      if (jobs.length > 0) await leases.settle(jobs.map(this.answer));
    }
  }

  /** Starts per second of a group (all of them) in the last so many milliseconds. */
  rate(lastMs: number, now: number, key?: string): number {
    const recent = this.starts.filter(
      (start) => start.at > now - lastMs && (key === undefined || start.key === key),
    );
    return (recent.length * 1000) / lastMs;
  }
}

const beat = (harness: StoreHarness) => new Instance(harness, 'one', 10).beat({ processorTypes: ['work'] });

/** Congestion control. */
export function slowing(open: OpenStore): void {
  it('no limit until the service refuses; then about what it accepts', async () => {
    const harness = await open();
    await beat(harness);
    for (const id of ['a', 'b', 'c', 'd']) await fill(harness, group(`${id}/g`), 900);
    let tokens = 0;
    let filledAt = await harness.now();
    let now = filledAt;
    // Accepts 100 a second.
    const caller = new Caller(harness, (lease) => {
      tokens = Math.min(10, tokens + ((now - filledAt) * 100) / 1000);
      filledAt = now;
      if (tokens < 1) return refused(lease);
      tokens -= 1;
      return success(lease);
    });
    for (let step = 0; step < 600; step += 1) {
      await caller.run(10);
      now = await harness.now();
    }
    expect(caller.rate(3000, now)).toBeGreaterThan(60);
    expect(caller.rate(3000, now)).toBeLessThan(130);
    const { throttled } = (await harness.store.views.group('a/g')) ?? { throttled: 0 };
    expect(throttled).toBeGreaterThan(0);
  });

  it('one group that is refused is slowed alone', async () => {
    const harness = await open();
    await beat(harness);
    for (const id of ['a', 'b', 'c', 'd', 'e']) await fill(harness, group(`${id}/g`), 900);
    const caller = new Caller(harness, (lease) => (lease.key === 'a/g' ? refused(lease) : success(lease)));
    await caller.run(3000);
    const now = await harness.now();
    expect(caller.rate(1000, now, 'a/g')).toBeLessThan(20);
    expect(caller.rate(1000, now, 'b/g')).toBeGreaterThan(200);
  });

  it('a pause that the service asks for is kept by everybody', async () => {
    const harness = await open();
    await beat(harness);
    await fill(harness, group('/g'), 100);
    let asked = false;
    const caller = new Caller(harness, (lease) => {
      if (asked) return success(lease);
      asked = true;
      return refused(lease, 2000);
    });
    await caller.run(20, 5);
    const before = caller.starts.length;
    await caller.run(1900, 5);
    expect(caller.starts).toHaveLength(before);
    await caller.run(500, 5);
    expect(caller.starts.length).toBeGreaterThan(before);
  });

  it('a refused job waits by rule, longer the more wait; nothing without congestion control', async () => {
    for (const enabled of [true, false]) {
      const harness = await open({ congestion: { enabled, baseBackoffMs: 500 } });
      await beat(harness);
      await fill(harness, group('/g'), 9);
      const leases = await new Instance(harness).exactly(9);
      await harness.store.leases.settle(leases.map((lease) => refused(lease)));
      expect(await placeOf(harness, '/g', 'j0')).toBe('NON_READY');
      const first = await harness.store.views.job('/g', 'j0');
      expect(first?.dueAt).toBe((await harness.now()) + 500);
      const last = await harness.store.views.job('/g', 'j8');
      expect(last?.dueAt).toBeGreaterThan((await harness.now()) + 500);
    }
  });
}
