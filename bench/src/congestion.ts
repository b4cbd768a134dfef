import { seededRng } from '@millrace/foundation';
import { describeRedis, stopRedis } from './bulk/redis.js';
import { COMPARATORS, contest } from './congestion/contest.js';
import { shippedEngine } from './congestion/engine.js';
import type { ServiceBrief } from './congestion/hidden-service.js';
import { type ControllerOutcome, outcomePlot, outcomeTable, scoreOf } from './congestion/outcome.js';
import { drawnPhases, type Phase, stepPhases } from './congestion/profile.js';
import type { Gauge } from './gauges.js';
import { registerBench } from './registry.js';

const WORKERS = 50;
const PHASE_SECONDS = 30;
const SMOKE_SECONDS = 0.3;
const DRAWN_SEEDS = ['one', 'two', 'three'];
const SMOKE_SPEED = 130;
/** An engine waits for the service most of its time: so many runs of it do not disturb each other. */
const AT_ONCE = 3;

/** A contest on one service: the engine is judged, the others stand beside it in the table and the picture. */
interface Match {
  readonly title: string;
  readonly file: string;
  readonly brief: ServiceBrief;
  readonly readings: Gauge['readings'];
  /** Which of the scores the readings are. */
  read(score: ReturnType<typeof scoreOf>): readonly number[];
}

const goodputBars = (goodput: number, refused: number): Gauge['readings'] => [
  { name: 'goodput of the ideal', unit: '%', least: goodput, aim: 97 },
  { name: 'refused calls', unit: '%', most: refused, aim: 1 },
];

const refusing = (title: string, file: string, phases: readonly Phase[], bars: Gauge['readings']): Match => ({
  title: `${title}, a service that answers 429 at once`,
  file,
  brief: { kind: 'refusing', phases, workMs: 50 },
  readings: bars,
  read: ({ goodput, refused }) => [100 * goodput, 100 * refused],
});

function matches(smoke: boolean): Match[] {
  const seconds = smoke ? SMOKE_SECONDS : PHASE_SECONDS;
  const step = stepPhases(seconds);
  return [
    refusing('100 → 40 → 100/s', 'congestion-refusing', step, goodputBars(94, 2)),
    {
      title: '100 → 40 → 100/s, a service that queues, adaptiveConcurrency',
      file: 'congestion-queueing',
      brief: { kind: 'queueing', phases: step, workMs: 50 },
      readings: [
        { name: 'p99 in the service', unit: 'ms', most: 1000 },
        { name: 'goodput of the ideal', unit: '%' },
      ],
      read: ({ p99Ms, goodput }) => [p99Ms, 100 * goodput],
    },
    ...DRAWN_SEEDS.slice(0, smoke ? 1 : DRAWN_SEEDS.length).map((seed) => {
      const phases = drawnPhases(seededRng(`profile ${seed}`), smoke ? SMOKE_SPEED : 1);
      return refusing(`drawn by '${seed}'`, `congestion-drawn-${seed}`, phases, goodputBars(89, 3));
    }),
  ];
}

/** The same numbers of each comparator, which nobody judges. */
const besides = (readings: Gauge['readings']): Gauge['readings'] =>
  COMPARATORS.flatMap(({ name }) =>
    readings.map((reading) => ({ name: `${name}: ${reading.name}`, unit: reading.unit, once: true })),
  );

function gaugeOf({ title, file, brief, readings, read }: Match): Gauge {
  const { phases, kind } = brief;
  const valuesOf = ({ report }: ControllerOutcome) => read(scoreOf(report, phases));
  let shown: readonly ControllerOutcome[] = [];
  return {
    work: title,
    readings: [...readings, ...besides(readings)],
    atOnce: AT_ONCE,
    plot: { file: `${file}.svg`, draw: () => outcomePlot(title, shown) },
    async run(turn) {
      const [ours] = await contest(brief, [shippedEngine(kind === 'queueing')], WORKERS);
      if (!ours) throw new Error('expected the engine to have run');
      if (turn > 0) return valuesOf(ours);
      // Once, and after the engines: one of them calls as fast as it can.
      const others = (await Promise.all(COMPARATORS.map((one) => contest(brief, [one], WORKERS)))).flat();
      shown = [ours, ...others];
      console.log(`\n${title}, the first run\n${outcomeTable(shown, phases)}`);
      return shown.flatMap(valuesOf);
    },
  };
}

registerBench({
  name: 'congestion',
  get settings() {
    return [
      `Millrace: one engine on Redis, ${WORKERS} workers, 8 groups, no configured rate; told nothing but the answers`,
      `AIMD alone, Vegas alone: ${WORKERS} workers, a limit of calls at once, no queue behind it`,
      `the service: a process of its own, 50 ms of work, phases of ${PHASE_SECONDS} s; it counts, not the callers`,
      `${AT_ONCE} runs of the engine at a time, each with a service and keys of its own; the comparators run once, after the first of them; plots: the first run`,
      describeRedis('keys of its own for every run'),
    ];
  },
  pairs: 9,
  warmUps: 0,
  rows: () => [],
  gauges: ({ smoke }) => matches(smoke).map(gaugeOf),
  close: stopRedis,
});
