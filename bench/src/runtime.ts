import { InMemoryQueue, TaskManager, ThreadPool, threadTask } from '@millrace/runtime';
import fastq from 'fastq';
import PQueue from 'p-queue';
import { Piscina } from 'piscina';
import { perOperation } from './measure.js';
import { describePeers, PISCINA } from './peers.js';
import { type Row, registerBench } from './registry.js';

const LARGE = 1_000_000;
const SMALL = 10;
const THREADS = PISCINA.maxThreads;
const noopModule = new URL('./threads/noop.js', import.meta.url);
const noop = async () => {};

/** Fills a queue to `size` and drains it, again and again until `count` items have passed. */
const fillAndDrain = (size: number, pass: (size: number) => Promise<unknown>) => async (count: number) => {
  for (let done = 0; done < count; done += size) await pass(size);
};

const passOurs = () => {
  const queue = new InMemoryQueue<number>();
  return async (size: number) => {
    for (let index = 0; index < size; index++) await queue.put(index);
    for (let index = 0; index < size; index++) await queue.get();
  };
};

const passFastq = () => {
  const queue = fastq.promise<unknown, number>(noop, 1);
  return async (size: number) => {
    queue.pause();
    const all: Promise<unknown>[] = [];
    for (let index = 0; index < size; index++) all.push(queue.push(index));
    queue.resume();
    await Promise.all(all);
  };
};

const passPQueue = () => {
  const queue = new PQueue({ concurrency: 1, autoStart: false });
  return async (size: number) => {
    queue.pause();
    for (let index = 0; index < size; index++) queue.add(noop);
    queue.start();
    await queue.onIdle();
  };
};

function queueRow(size: number, count: number): Row {
  const side = (name: string, pass: (size: number) => Promise<unknown>) =>
    perOperation(name, Math.max(size, count), fillAndDrain(size, pass));
  const large = size === LARGE;
  return {
    work: `queue: put and get, ${size.toLocaleString('en')} waiting`,
    unit: 'ns',
    // An item has an id and a time, made twice since none of it is kept while it waits; fastq has neither.
    bar: 0.75,
    aim: 1,
    ours: side('InMemoryQueue', passOurs()),
    peers: [side('fastq', passFastq()), side('p-queue', passPQueue())],
    ...(large && { pairs: 9, warmUps: 1 }),
  };
}

const KEYS = 100;
const keyOf = (index: number) => `session ${index % KEYS}`;

/** Every task through its lane: accepted, run in order, its stream begun and ended. */
async function passLanes(count: number): Promise<void> {
  let left = count;
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const handler = () => {
    if (--left === 0) finish();
  };
  await using manager = new TaskManager(handler, { maxWorkers: 16, queueMaxSize: 0, maxStored: 100 });
  await manager.start();
  for (let index = 0; index < count; index++) await manager.enqueue({ key: keyOf(index), input: index });
  await finished;
}

/** The nearest thing a peer has: a queue of concurrency 1 for each key. */
async function passQueues(count: number): Promise<void> {
  const queues = new Map<string, PQueue>();
  const all: Promise<unknown>[] = [];
  for (let index = 0; index < count; index++) {
    const key = keyOf(index);
    const queue = queues.get(key) ?? new PQueue({ concurrency: 1 });
    queues.set(key, queue);
    all.push(queue.add(noop));
  }
  await Promise.all(all);
}

function rows({ smoke }: { smoke: boolean }): Row[] {
  const [size, count] = smoke ? [1000, 1000] : [LARGE, 100_000];
  const tasks = smoke ? 20 : 2000;
  const pool = new ThreadPool({ maxWorkers: THREADS });
  const task = threadTask(noopModule, 'noop');
  const peer = new Piscina({ filename: noopModule.href, ...PISCINA });
  const burst = (submit: () => PromiseLike<unknown>) => (many: number) =>
    Promise.all(Array.from({ length: many }, submit));
  return [
    queueRow(SMALL, count),
    queueRow(size, count),
    {
      work: `queue: ${size.toLocaleString('en')} waiting beside ${SMALL} waiting`,
      unit: 'ns',
      // The cost of an item must not grow with the size of the queue: half as much again is memory, not method.
      bar: 0.67,
      aim: 1,
      ours: perOperation('InMemoryQueue', size, fillAndDrain(size, passOurs())),
      peers: [perOperation('the same', size, fillAndDrain(SMALL, passOurs()))],
      pairs: 9,
      warmUps: 1,
    },
    {
      work: `threads: no-op tasks on ${THREADS} threads`,
      unit: 'ns',
      // Beside piscina: a future that can be cancelled alone, a thread that can crash alone.
      bar: 0.5,
      aim: 1,
      ours: perOperation(
        'ThreadPool',
        tasks,
        burst(() => pool.submit(task)),
      ),
      peers: [
        perOperation(
          'piscina',
          tasks,
          burst(() => peer.run(undefined, { name: 'noop' })),
        ),
      ],
    },
    {
      work: `lanes: no-op tasks over ${KEYS} keys`,
      unit: 'ns',
      // A lane also keeps state, result and stream of each task, which a bare queue does not: the ceiling judges.
      bar: 0,
      aim: 0.1,
      ceiling: 100_000,
      ours: perOperation('TaskManager', tasks, passLanes),
      peers: [perOperation('p-queue', tasks, passQueues)],
    },
  ];
}

registerBench({
  name: 'runtime',
  settings: describePeers(['fastq', 'p-queue', 'piscina']),
  pairs: 25,
  warmUps: 5,
  rows,
});
