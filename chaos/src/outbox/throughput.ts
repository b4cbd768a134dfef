import { readLedger, until } from '@millrace/testkit';
import { LEAST_SHARE, type Recovery, speedOf } from '../recovery.js';
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

const ENDS_WITHIN_MS = 60_000;

/** Measures how fast the processes are now. */
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

/**
 * I10: after the last fault the processes become as fast as before the first, and none of them had to be started again for that.
 */
export function checkLiveness({ probes, share, tookMs }: Recovery<Probe>, deaths: number): Verdict {
  const speeds = probes.map(({ perSecond }) => perSecond.toFixed(0));
  return {
    invariant: 'I10 throughput is back',
    held: share >= LEAST_SHARE && deaths === 0,
    evidence: `${speeds.join(', ')} tasks/s: ${(share * 100).toFixed(0)} % of before in ${(tookMs / 1000).toFixed(1)} s, ${deaths} processes started again`,
  };
}
