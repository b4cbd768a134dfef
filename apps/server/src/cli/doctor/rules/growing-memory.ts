import { amount, bytes, duration, percent } from '../../show/amounts.js';
import type { Instance, ServerFacts } from '../facts.js';
import { type Finding, finding } from '../finding.js';
import { waitingJobs } from './workers.js';

const CHECK = 'case.growing-memory';
/** A heap that is so full is collected all the time. */
const FULL_SHARE = 0.85;
/** Growth is looked at when it was seen for so long: a process that has just started grows. */
const SEEN_MIN_MS = 300_000;
/** Growth that fills the heap within this time is told. */
const FILLED_WITHIN_MS = 6 * 3_600_000;
/** Less than this part of the heap is nothing. */
const GROWN_MIN_SHARE = 0.02;

/** What the rule looks at. */
export type MemoryFacts = Pick<ServerFacts, 'instances' | 'isEmbedded' | 'payloads' | 'queues'>;

/**
 * Case 5: the memory of an instance grows, or is nearly full.
 * @returns of the instance that will end first; undefined when none will.
 */
export function judgeGrowingMemory(facts: MemoryFacts): Finding | undefined {
  const grown = facts.instances
    .filter(({ alive }) => alive)
    .map((instance) => ({ instance, leftMs: leftMs(instance) }))
    .filter(({ leftMs }) => leftMs <= FILLED_WITHIN_MS)
    .sort((a, b) => a.leftMs - b.leftMs);
  const [worst] = grown;
  const memory = worst?.instance.memory;
  if (!worst || !memory) return undefined;
  const { heapUsedBytes, heapLimitBytes, grownBytes, overMs, rssBytes } = memory;
  const growth =
    grownBytes > 0 && overMs > 0 ? ` It has grown by ${bytes(grownBytes)} within ${duration(overMs)}.` : '';
  const title =
    worst.leftMs === 0 ? 'The memory of an instance is nearly full' : 'The memory of an instance grows';
  return finding('warning', CHECK, title, {
    seen: `${worst.instance.instanceId} uses ${bytes(heapUsedBytes)} of ${bytes(heapLimitBytes)} (${percent(heapUsedBytes / heapLimitBytes)}; ${bytes(rssBytes)} in all).${growth}${worst.leftMs > 0 ? ` It is full in about ${duration(worst.leftMs)}.` : ''}${payloadsOf(facts)}`,
    action: actionOf(facts, worst.instance),
  });
}

/** Until the heap is full at the present growth; 0: it is nearly. */
function leftMs({ memory }: Instance): number {
  if (!memory) return Number.POSITIVE_INFINITY;
  const { heapUsedBytes, heapLimitBytes, grownBytes, overMs } = memory;
  if (heapUsedBytes >= FULL_SHARE * heapLimitBytes) return 0;
  if (overMs < SEEN_MIN_MS || grownBytes < GROWN_MIN_SHARE * heapLimitBytes) return Number.POSITIVE_INFINITY;
  return ((heapLimitBytes - heapUsedBytes) / grownBytes) * overMs;
}

const payloadsOf = ({ payloads }: MemoryFacts): string =>
  payloads
    ? ` Payloads of ${amount(payloads.looked)} waiting jobs: ${bytes(payloads.meanBytes)} on the average, ${bytes(payloads.maxBytes)} at most.`
    : '';

function actionOf({ isEmbedded, queues: [, now] }: MemoryFacts, { workerCount }: Instance): string {
  const inMemory = isEmbedded
    ? [
        `${amount(waitingJobs(now))} waiting jobs are in its memory: use Redis (REDIS_URL), or let fewer wait (bulk.limits.queuedJobsMax)`,
      ]
    : [];
  const workers =
    workerCount !== null && workerCount > 0
      ? [`fewer workers hold fewer jobs at once (workerCount is ${amount(workerCount)})`]
      : [];
  const advice = [
    ...inMemory,
    'hand in where the data is instead of the data (bulk.limits.payloadBytesMax)',
    ...workers,
    'more heap: NODE_OPTIONS=--max-old-space-size=MEGABYTES',
  ].join('; ');
  return `${advice.charAt(0).toUpperCase()}${advice.slice(1)}. If it grows with none of these, the application keeps something: take a heap snapshot.`;
}
