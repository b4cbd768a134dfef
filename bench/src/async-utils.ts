import { pLimit, retry, timeout } from '@millrace/async-utils';
import theirLimit from 'p-limit';
import PQueue from 'p-queue';
import pRetry from 'p-retry';
import pTimeout from 'p-timeout';
import { perOperation, type Side } from './measure.js';
import { describePeers } from './peers.js';
import { type Row, registerBench } from './registry.js';

const CONCURRENCY = 10;
const noop = async () => {};
const FAR_MS = 60_000;

/** Submits everything at once and waits for the last. */
const burst = (submit: (index: number) => Promise<unknown>) => (count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => submit(index)));

/** One after the other: what a single call costs. */
const oneByOne = (call: () => Promise<unknown>) => async (count: number) => {
  for (let index = 0; index < count; index++) await call();
};

/** Fails once, then succeeds: the price of a retry without its delay. */
const failsOnce = () => {
  let failed = false;
  return async () => {
    if (!failed) {
      failed = true;
      throw new Error('first try');
    }
  };
};

type Contender = readonly [name: string, batch: (count: number) => Promise<unknown>];

function row(work: string, count: number, ours: Contender, ...peers: readonly Contender[]): Row {
  const [our, ...theirs] = [ours, ...peers].map(([name, batch]) => perOperation(name, count, batch));
  return { work, unit: 'ns', bar: 1, aim: 1.5, ceiling: 1_000_000, ours: our as Side, peers: theirs };
}

function rows({ smoke }: { smoke: boolean }): Row[] {
  // Enough that a sample takes 5 ms or more: shorter ones measure the garbage collector's timing.
  const [many, most] = smoke ? [100, 100] : [10_000, 100_000];
  const limit = pLimit(CONCURRENCY);
  const peerLimit = theirLimit(CONCURRENCY);
  const queue = new PQueue({ concurrency: CONCURRENCY });
  const { signal } = new AbortController();
  const [ms, milliseconds] = [FAR_MS, FAR_MS];
  const urgency = (index: number) => ({ priority: index % 11 });
  const zeros = (count: number) => Array<number>(count).fill(0);

  return [
    row(
      `limit ${CONCURRENCY}: a burst of tasks`,
      many,
      ['pLimit', burst(() => limit(noop))],
      ['p-limit', burst(() => peerLimit(noop))],
      ['p-queue', burst(() => queue.add(noop))],
    ),
    row(
      `limit ${CONCURRENCY}: one task at a time`,
      most,
      ['pLimit', oneByOne(() => limit(noop))],
      ['p-limit', oneByOne(() => peerLimit(noop))],
      ['p-queue', oneByOne(() => queue.add(noop))],
    ),
    row(
      `limit ${CONCURRENCY}: map over items`,
      many,
      ['pLimit', (count) => limit.map(zeros(count), noop)],
      ['p-limit', (count) => peerLimit.map(zeros(count), noop)],
    ),
    row(
      `limit ${CONCURRENCY}: a burst with priorities`,
      many,
      ['pLimit', burst((index) => limit.run(noop, urgency(index)))],
      ['p-queue', burst((index) => queue.add(noop, urgency(index)))],
    ),
    row(
      'retry: success at once',
      most,
      ['retry', oneByOne(() => retry(noop))],
      ['p-retry', oneByOne(() => pRetry(noop))],
    ),
    row(
      'retry: one failure, no delay',
      many,
      ['retry', oneByOne(() => retry(failsOnce(), { backoff: () => 0 }))],
      ['p-retry', oneByOne(() => pRetry(failsOnce(), { minTimeout: 0, factor: 1 }))],
    ),
    row(
      'timeout: done in time',
      many,
      ['timeout', oneByOne(() => timeout(noop(), ms))],
      ['p-timeout', oneByOne(() => pTimeout(noop(), { milliseconds }))],
    ),
    row(
      'timeout: done in time, with a signal',
      many,
      ['timeout', oneByOne(() => timeout(noop(), { ms, signal }))],
      ['p-timeout', oneByOne(() => pTimeout(noop(), { milliseconds, signal }))],
    ),
  ];
}

registerBench({
  name: 'async-utils',
  settings: describePeers(['p-limit', 'p-queue', 'p-retry', 'p-timeout']),
  pairs: 25,
  warmUps: 10,
  rows,
});
