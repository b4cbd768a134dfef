import { PgliteDatabase } from '@millrace/postgres';
import { pgliteFolder } from '@millrace/testkit';
import type { Gauge } from '../gauges.js';
import { administer, databaseUrl } from '../outbox/server.js';
import type { OpenLoopBrief, OpenLoopReport, Warm } from './load-brief.js';
import { load, type Server, startServer } from './server.js';
import type { ServerUsage, StoreBrief } from './server-brief.js';

/** Rate, duration and work of a load. */
export type Mix = Omit<OpenLoopBrief, 'kind' | 'port'>;

/** What a run showed. */
interface Observed extends OpenLoopReport {
  readonly server: ServerUsage;
}

/** A number of a run with its bar, where one is set. */
interface MixReading {
  readonly name: string;
  readonly unit: string;
  readonly most?: number;
  of(observed: Observed): number;
}

const percent = (part: number, whole: number): number => (100 * part) / whole;

const READINGS: readonly MixReading[] = [
  { name: 'p50', unit: 'ms', most: 150, of: ({ all }) => all.p50 },
  { name: 'p95', unit: 'ms', most: 250, of: ({ all }) => all.p95 },
  { name: 'p95 of slow work alone', unit: 'ms', most: 220, of: ({ slow }) => slow.p95 },
  { name: 'p99', unit: 'ms', most: 500, of: ({ all }) => all.p99 },
  { name: 'errors', unit: '%', most: 0.1, of: ({ errors, requests }) => percent(errors, requests) },
  {
    name: 'of these: fast work answered 202',
    unit: '%',
    of: ({ fastConverted, requests }) => percent(fastConverted, requests),
  },
  { name: '202s that did not end COMPLETED', unit: '', most: 0, of: ({ unfinished }) => unfinished },
  {
    name: 'CPU of the server process',
    unit: '% of a core',
    most: 70,
    of: ({ server, wallMs }) => percent(server.cpuMs, wallMs),
  },
  { name: 'its memory at most', unit: 'MB', most: 512, of: ({ server }) => server.peakRssMb },
  { name: 'p50 of fast work', unit: 'ms', of: ({ fast }) => fast.p50 },
  { name: 'p99 of fast work', unit: 'ms', of: ({ fast }) => fast.p99 },
  { name: 'p99 of slow work', unit: 'ms', of: ({ slow }) => slow.p99 },
  { name: 'sent late by the load, p99', unit: 'ms', of: ({ sendDelay }) => sendDelay.p99 },
  { name: 'CPU of the load', unit: '% of a core', of: ({ cpuMs, wallMs }) => percent(cpuMs, wallMs) },
];

/** Fast and slow work at a fixed rate on one instance: how soon, how right, at what cost. */
export const mixedLoad = (
  store: StoreBrief['kind'],
  mix: Mix,
  options: { runs: number; isJudged: boolean },
): Gauge => ({
  work: `${mix.perSecond} requests/s for ${mix.seconds} s, store: ${STORE_NAMES[store]}`,
  runs: options.runs,
  readings: READINGS.map(({ name, unit, most }) => ({
    name,
    unit,
    ...(options.isJudged && most !== undefined && { most }),
  })),
  async run() {
    const observed = await withStore(store, (brief) => observe(brief, mix));
    for (const complaint of observed.complaints) console.error(`orchestrator: ${complaint}`);
    return READINGS.map((reading) => reading.of(observed));
  },
});

const STORE_NAMES: Readonly<Record<StoreBrief['kind'], string>> = {
  memory: 'memory',
  postgres: 'PostgreSQL',
  pglite: 'PGlite',
};

/** A new process each time: its memory is what this load needs. */
async function observe(store: StoreBrief, mix: Mix): Promise<Observed> {
  const server = await startServer({ serves: 'orchestrator', store });
  try {
    return await loaded(server, mix);
  } finally {
    await server.stop();
  }
}

async function loaded(server: Server, mix: Mix): Promise<Observed> {
  const child = await load();
  const warm = (await child.ask({ kind: 'open', port: server.port, ...mix } satisfies OpenLoopBrief)) as Warm;
  if (!warm.warm) throw new Error('the load should have said that it is warm');
  const before = await server.usage();
  const report = (await child.ask({})) as OpenLoopReport;
  const { cpuMs, peakRssMb } = await server.usage();
  return { ...report, server: { cpuMs: cpuMs - before.cpuMs, peakRssMb } };
}

/** Gives a store without operations. */
async function withStore<T>(kind: StoreBrief['kind'], use: (store: StoreBrief) => Promise<T>): Promise<T> {
  if (kind === 'memory') return use({ kind });
  if (kind === 'pglite') {
    using folder = await pgliteFolder(createEmpty);
    return await use({ kind, dataDir: folder.dataDir });
  }
  // Of an earlier run; the tables are made by the server.
  await administer('DROP SCHEMA IF EXISTS millrace CASCADE');
  await administer('CHECKPOINT');
  return use({ kind, url: await databaseUrl() });
}

async function createEmpty(dataDir: string): Promise<void> {
  const database = new PgliteDatabase({ dataDir });
  await database.query('SELECT 1');
  await database.stop();
}
