import { pLimit, retry, timeout } from '@millrace/async-utils';
import theirLimit from 'p-limit';
import PQueue from 'p-queue';
import pRetry from 'p-retry';
import pTimeout from 'p-timeout';
import { perOperation } from './measure.js';
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

function rows({ smoke }: { smoke: boolean }): Row[] {
  const count = smoke ? 100 : 10_000;
  const shared = { unit: 'ns', bar: 1, aim: 1.5, ceiling: 1_000_000 };
  const limit = pLimit(CONCURRENCY);
  const peerLimit = theirLimit(CONCURRENCY);
  const queue = new PQueue({ concurrency: CONCURRENCY });
  const { signal } = new AbortController();
  const side = (name: string, batch: (count: number) => Promise<unknown>) => perOperation(name, count, batch);

  return [
    {
      ...shared,
      work: `limit ${CONCURRENCY}: a burst of tasks`,
      ours: side(
        'pLimit',
        burst(() => limit(noop)),
      ),
      peers: [
        side(
          'p-limit',
          burst(() => peerLimit(noop)),
        ),
        side(
          'p-queue',
          burst(() => queue.add(noop)),
        ),
      ],
    },
    {
      ...shared,
      work: `limit ${CONCURRENCY}: one task at a time`,
      ours: side(
        'pLimit',
        oneByOne(() => limit(noop)),
      ),
      peers: [
        side(
          'p-limit',
          oneByOne(() => peerLimit(noop)),
        ),
        side(
          'p-queue',
          oneByOne(() => queue.add(noop)),
        ),
      ],
    },
    {
      ...shared,
      work: `limit ${CONCURRENCY}: map over items`,
      ours: side('pLimit', (n) => limit.map(Array(n).fill(0), noop)),
      peers: [side('p-limit', (n) => peerLimit.map(Array(n).fill(0), noop))],
    },
    {
      ...shared,
      work: `limit ${CONCURRENCY}: a burst with priorities`,
      ours: side(
        'pLimit',
        burst((index) => limit.run(noop, { priority: index % 11 })),
      ),
      peers: [
        side(
          'p-queue',
          burst((index) => queue.add(noop, { priority: index % 11 })),
        ),
      ],
    },
    {
      ...shared,
      work: 'retry: success at once',
      ours: side(
        'retry',
        oneByOne(() => retry(noop)),
      ),
      peers: [
        side(
          'p-retry',
          oneByOne(() => pRetry(noop)),
        ),
      ],
    },
    {
      ...shared,
      work: 'retry: one failure, no delay',
      ours: side(
        'retry',
        oneByOne(() => retry(failsOnce(), { backoff: () => 0 })),
      ),
      peers: [
        side(
          'p-retry',
          oneByOne(() => pRetry(failsOnce(), { minTimeout: 0, factor: 1 })),
        ),
      ],
    },
    {
      ...shared,
      work: 'timeout: done in time',
      ours: side(
        'timeout',
        oneByOne(() => timeout(noop(), FAR_MS)),
      ),
      peers: [
        side(
          'p-timeout',
          oneByOne(() => pTimeout(noop(), { milliseconds: FAR_MS })),
        ),
      ],
    },
    {
      ...shared,
      work: 'timeout: done in time, with a signal',
      ours: side(
        'timeout',
        oneByOne(() => timeout(noop(), { ms: FAR_MS, signal })),
      ),
      peers: [
        side(
          'p-timeout',
          oneByOne(() => pTimeout(noop(), { milliseconds: FAR_MS, signal })),
        ),
      ],
    },
  ];
}

registerBench({
  name: 'async-utils',
  settings: describePeers(['p-limit', 'p-queue', 'p-retry', 'p-timeout']),
  pairs: 25,
  warmUps: 10,
  rows,
});
