import type { Rng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import type { BulkActionConfig } from '../../src/options.js';
import type { Job } from '../../src/processor.js';
import { groupOf, totals } from '../fairness/measures.js';
import { VirtualEngine } from '../fairness/virtual-engine.js';

const WORKERS = 10;
/** All workers begin at once; after so long jobs of different length have spread them. */
const SETTLED_MS = 5000;
const MEASURED_MS = 30_000;
const END_MS = SETTLED_MS + MEASURED_MS;
const BAR = 0.95;
/** The Fetcher's looks put jobs of others before both of them: 93 to 96 % measured, 86 % while each parking woke it. */
const BAR_OF_TWO = 0.93;
const FETCH_INTERVAL_MS = 200;
/** The Fetcher's own looks, up to a tenth early, and as many that are asked for. */
const FETCHES_PER_SECOND_MAX = (2 * 1000) / (0.9 * FETCH_INTERVAL_MS);

interface Limited {
  readonly id: string;
  /** Starts per second that its limit allows, and the jobs it has. */
  readonly rate: number;
  readonly rps?: number;
  readonly burst?: number;
  readonly processorType?: string;
}

interface Setting {
  readonly limited: readonly Limited[];
  /** The part of its rate or share that each has to get (BAR). */
  readonly bar?: number;
  readonly config?: BulkActionConfig;
  /** How long the jobs that keep the workers busy take (100 to 300 ms). */
  readonly longMs?: (rng: Rng) => number;
  readonly setUp?: (engine: VirtualEngine) => Promise<unknown>;
}

/** Quick jobs under a limit beside a customer whose long jobs keep every worker busy; all have work all the time. */
async function startsBeside({ limited, config, longMs, setUp }: Setting) {
  const long = longMs ?? ((rng: Rng) => 100 + 200 * rng.next());
  const engine = new VirtualEngine({
    seed: 'busy workers',
    latenessMs: 2,
    roundTripMs: 1,
    types: ['work', 'call'],
    config: { ...config, workerPool: { workerCount: WORKERS, fetchIntervalMs: FETCH_INTERVAL_MS } },
    serviceMs: (job: Job, rng) => (job.groupId === 'whale/g' ? long(rng) : 1),
  });
  await setUp?.(engine);
  for (const { rate, processorType = 'work', ...group } of limited)
    await engine.submit(group, Math.ceil((1.2 * rate * END_MS) / 1000), () => ({ processorType }));
  await engine.submit({ id: 'whale/g' }, (60 * END_MS) / 1000);
  const fetches = () => engine.recording.calls.get('fetch') ?? 0;
  let fetched = 0;
  await engine.run(async () => {
    await engine.pass(SETTLED_MS);
    fetched -= fetches();
    await engine.pass(MEASURED_MS);
    fetched += fetches();
  });
  const { starts } = engine.recording;
  const measured = starts.filter(({ at }) => at >= SETTLED_MS && at < END_MS);
  return { started: totals(measured, groupOf), fetchesPerSecond: (fetched * 1000) / MEASURED_MS };
}

describe('bulk-action BA-2: a limit while every worker is busy with the work of others', () => {
  const twenty = { id: 'a/g', rate: 20, rps: 20 };

  it.each<[string, Setting]>([
    ['a group of 20 per second', { limited: [twenty] }],
    ['a group of 40 per second', { limited: [{ id: 'a/g', rate: 40, rps: 40 }] }],
    ['a group above its fair share', { limited: [{ id: 'a/g', rate: 200, rps: 200 }] }],
    ['each of two groups', { limited: [twenty, { id: 'b/g', rate: 20, rps: 20 }], bar: BAR_OF_TWO }],
    [
      'a tenant',
      { limited: [{ id: 'a/g', rate: 20 }], setUp: ({ service }) => service.updateTenant('a', { rps: 20 }) },
    ],
    [
      'a resource',
      {
        limited: [{ id: 'a/g', rate: 20, processorType: 'call' }],
        config: { resources: { call: { rps: 20 } } },
      },
    ],
    [
      'a group, with no limit of the engine',
      { limited: [twenty], config: { backpressure: { globalRps: 0 } } },
    ],
  ])('bulk-action BA-2: %s gets its rate or its share', async (_, setting) => {
    const { started, fetchesPerSecond } = await startsBeside(setting);
    const { limited, bar = BAR } = setting;
    const whale = started.get('whale/g') ?? 0;
    for (const { id, rate } of limited) {
      const due = Math.min((rate * MEASURED_MS) / 1000, whale);
      const part = (started.get(id) ?? 0) / due;
      console.log(
        `${id} of ${rate}/s: ${part.toFixed(3)} of its due, ${fetchesPerSecond.toFixed(1)} fetches/s`,
      );
      expect(part, `${id} started ${started.get(id)} of ${due}`).toBeGreaterThanOrEqual(bar);
    }
    expect(fetchesPerSecond, 'calls of fetch per second').toBeLessThanOrEqual(FETCHES_PER_SECOND_MAX);
  });

  // No worker is held back for a token to come, and none of them gets free between: see docs/adr/0005.
  it('bulk-action BA-2: workers that all get free together give it what its burst has kept', async () => {
    const longMs = () => 200;
    const kept = await startsBeside({ limited: [twenty], longMs });
    const perRound = 2;
    expect(kept.started.get('a/g')).toBeLessThanOrEqual((perRound * MEASURED_MS) / 200);
    const enough = await startsBeside({ limited: [{ ...twenty, burst: 5 }], longMs });
    expect(enough.started.get('a/g')).toBeGreaterThanOrEqual((BAR * 20 * MEASURED_MS) / 1000);
  });
});
