import type { Rng } from '@millrace/foundation';
import { readLedger } from '@millrace/testkit/ledger';
import { LEAST_SHARE, type Recovery, speedOf } from '../recovery.js';
import type { Verdict } from '../registry.js';
import type { BulkClient } from './client.js';
import { type PlannedGroup, planJob } from './plan.js';
import { PROBE_TYPE } from './settings.js';

/** Easy work that nothing but the workers holds back, and how fast it went. */
export interface Probe {
  readonly group: PlannedGroup;
  /** Jobs per second while all slots were taken. */
  readonly perSecond: number;
}

/** Few enough jobs that the slots are the limit and not the machine. */
const PER_SECOND = 600;
const JOB_MS_MIN = 100;
const ROUNDS_MIN = 5;
const ENDS_WITHIN_MS = 60_000;

/**
 * Measures how fast the workers are now.
 * @param parts - name of the group, worker slots, how long it should take, the ledger, randomness for the steps, and what runs the jobs.
 */
export async function measure(
  client: BulkClient,
  parts: { name: string; slots: number; ms: number; ledger: string; rng: Rng; type?: string | undefined },
): Promise<Probe> {
  const { name, slots, ledger, rng, type = PROBE_TYPE } = parts;
  const ms = Math.max(JOB_MS_MIN, Math.round((slots * 1000) / PER_SECOND));
  const rounds = Math.max(ROUNDS_MIN, Math.round(parts.ms / ms));
  const jobs = Array.from({ length: slots * rounds }, (_, index) =>
    planJob(`j${index}`, { does: 'works', ms, type }),
  );
  const group: PlannedGroup = { input: { id: name }, jobs };
  await client.submitGroup(group, rng, jobs.length);
  await client.ended([group], ENDS_WITHIN_MS);
  const ends = readLedger(ledger)
    .filter(({ kind, job }) => kind === 'ended' && String(job).startsWith(`${name}#`))
    .map(({ at }) => at)
    .sort((a, b) => a - b);
  return { group, perSecond: speedOf(ends) };
}

/** I10: after the last fault the workers become as fast as before the first, without a restart. */
export function checkLiveness({ probes, share, tookMs }: Recovery<Probe>): Verdict {
  const speeds = probes.map(({ perSecond }) => perSecond.toFixed(0));
  return {
    invariant: 'I10 throughput is back',
    held: share >= LEAST_SHARE,
    evidence: `${speeds.join(', ')} jobs/s: ${(share * 100).toFixed(0)} % of before in ${(tookMs / 1000).toFixed(1)} s`,
  };
}
