import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { DEFAULT_BACKPRESSURE_CONFIG } from '../../src/options.js';
import { DirectEngine } from './direct-engine.js';
import { quantile } from './measures.js';
import { VirtualEngine } from './virtual-engine.js';

const WHALE = 100_000;
const SLOTS = 16;
const JOB_MS = 50;
const SMALL_JOBS = 2000;

/** How long the jobs of a small tenant waited, submitted one by one at random times. */
async function waitsOf(beside: 'whale' | 'nobody', perSecond: number): Promise<number[]> {
  const engine = new VirtualEngine({
    seed: 'small tenant',
    config: { workerPool: { workerCount: SLOTS }, backpressure: { globalRps: 0 } },
    serviceMs: (_job, rng) => rng.exponential(JOB_MS),
  });
  const { clock, recording } = engine;
  if (beside === 'whale') await engine.submit({ id: 'whale/g' }, WHALE);
  const submittedAt = new Map<string, number>();
  const arrivals = seededRng('arrivals');
  // After the first seconds: the drain is known then, as it is in an engine that runs.
  let at = 3000;
  for (let n = 0; n < SMALL_JOBS; n++) {
    at += arrivals.exponential(1000 / perSecond);
    clock.at(at, () => {
      submittedAt.set(`s${n}`, clock.monotonicMs());
      void engine.service.submitJob('small/g', { id: `s${n}`, processorType: 'work' });
    });
  }
  const smallStarts = () => recording.starts.filter(({ job }) => job.tenantId === 'small');
  await engine.run(async () => {
    await engine.pass(at);
    await clock.run(() => smallStarts().length === SMALL_JOBS, at + 60_000);
  });
  // Starts are stamped in whole microseconds.
  const waits = smallStarts().map((start) =>
    Math.max(0, start.at - (submittedAt.get(start.job.jobId) ?? Number.NaN)),
  );
  expect(waits).toHaveLength(SMALL_JOBS);
  return waits;
}

describe('bulk-action BA-1: a small customer beside a whale', () => {
  it('bulk-action BA-1: a newcomer behind 100,000 queued jobs is the next one fetched', async () => {
    const engine = new DirectEngine({ seed: 'newcomer' });
    await engine.submit({ id: 'whale/g' }, WHALE);
    await engine.start(500);
    await engine.submit({ id: 'new/g' }, 3);
    const next = (await engine.start(4)).map(({ job }) => job.tenantId);
    expect(next[0], `the next were ${next.join(' ')}`).toBe('new');
    expect(next.filter((tenant) => tenant === 'new').length).toBeGreaterThanOrEqual(2);
  });

  it('bulk-action BA-1: p99 wait beside a whale is at most alone + one job + the ready horizon', async () => {
    // Half of its share: 16 slots do 320 jobs of 50 ms a second, and there are two tenants.
    const perSecond = 80;
    const alone = quantile(await waitsOf('nobody', perSecond), 0.99);
    const beside = quantile(await waitsOf('whale', perSecond), 0.99);
    console.log(`p99 wait: ${beside.toFixed(1)} ms beside a whale, ${alone.toFixed(1)} ms alone`);
    const bound = alone + JOB_MS + DEFAULT_BACKPRESSURE_CONFIG.readyHorizonMs;
    expect(beside, `p99 ${beside} ms beside the whale, ${alone} alone`).toBeLessThanOrEqual(bound);
  });
});
