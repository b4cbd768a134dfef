import { readLedger, until } from '@millrace/testkit';
import type { Verdict } from '../registry.js';
import { probeBatch } from './conflict-plan.js';
import { untilAnswered } from './follow.js';
import type { OpenedOutbox } from './open-outbox.js';
import type { PlannedBatch } from './plan.js';

/** Easy work that nothing but the processes holds back, and how fast it went. */
export interface Probe {
  readonly batch: PlannedBatch;
  /** Tasks per second while all slots were taken. */
  readonly perSecond: number;
}

/** How fast it was before the faults, and each time it was looked at afterwards. */
export interface Recovery {
  /** The first one was before. */
  readonly probes: readonly Probe[];
  /** Of what it was before, when it was looked at last. */
  readonly share: number;
  /** Since the last fault. */
  readonly tookMs: number;
}

const LEAST_SHARE = 0.9;
const RECOVERS_WITHIN_MS = 10_000;
const ENDS_WITHIN_MS = 60_000;

/**
 * Measures how fast the processes are now.
 * @param bizKey - of the batch that is started for it.
 * @param opened - an outbox of this process.
 * @param ledgerPath - where the ledger is.
 */
export async function measure(bizKey: string, opened: OpenedOutbox, ledgerPath: string): Promise<Probe> {
  const { outbox, ledger, plan } = opened;
  const batch = probeBatch(bizKey, plan);
  const start = () => outbox.pusher.start(batch.dag, bizKey, batch.payload);
  const { id, created } = await untilAnswered(start, { ledger, limited: (call) => call() }, bizKey);
  ledger.append({ kind: 'acknowledged', batch: bizKey, id, created });
  await until(async () => (await outbox.batches.get(id)).status !== 'RUNNING', {
    what: `${bizKey} to end`,
    deadlineMs: ENDS_WITHIN_MS,
    intervalMs: 25,
  });
  const ends = readLedger(ledgerPath)
    .filter(({ kind, task }) => kind === 'ended' && String(task).startsWith(`${bizKey}#`))
    .map(({ at }) => at)
    .sort((one, other) => one - other);
  return { batch, perSecond: speedOf(ends) };
}

/** Without the first and the last tenth, where work comes in and runs out. */
export function speedOf(ends: readonly number[]): number {
  const [from, to] = [Math.floor(ends.length * 0.1), Math.floor(ends.length * 0.9)];
  return ((to - from) * 1000) / Math.max(1, (ends[to] ?? 0) - (ends[from] ?? 0));
}

/**
 * Measures again and again until the processes are as fast as before, or the time to recover is over.
 * @param before - measured before the first fault.
 * @param probe - measures now.
 */
export async function measureRecovery(
  before: Probe,
  probe: (bizKey: string) => Promise<Probe>,
): Promise<Recovery> {
  const quietSince = performance.now();
  const probes = [before];
  for (;;) {
    const now = await probe(`after${probes.length}`);
    probes.push(now);
    const share = now.perSecond / before.perSecond;
    const tookMs = performance.now() - quietSince;
    if (share >= LEAST_SHARE || tookMs > RECOVERS_WITHIN_MS) return { probes, share, tookMs };
  }
}

/**
 * I10: after the last fault the processes become as fast as before the first, and none of them had to be started again for that.
 * @param recovery - what was measured.
 * @param deaths - processes that ended before they were asked to.
 */
export function checkLiveness({ probes, share, tookMs }: Recovery, deaths: number): Verdict {
  const speeds = probes.map(({ perSecond }) => perSecond.toFixed(0));
  return {
    invariant: 'I10 throughput is back',
    held: share >= LEAST_SHARE && deaths === 0,
    evidence: `${speeds.join(', ')} tasks/s: ${(share * 100).toFixed(0)} % of before in ${(tookMs / 1000).toFixed(1)} s, ${deaths} processes started again`,
  };
}
