import { defineConfig } from 'vitest/config';
import { inAllRooms, LongFirst, projects, SHORT_LIVED, serialTests, shared } from './vitest.config.ts';

/** These run what users run, from the build: programs of the documentation, the command line, packages as they are packed. */
const COMMANDS = [
  ...['snippets', 'examples', 'nestjs/packed', 'nestjs/versions', 'facade'],
  ...['process/readme', 'process/cli', 'process/watch', 'compose/load-app', 'process/packed'],
];

/** These need servers or processes of their own, but judge no time and no memory. */
const PATIENT = [
  ...['pglite/process', 'redis/restart', 'redis-cluster', 'sandbox', 'tcp-proxy'],
  ...[
    'postgres-server',
    'runner-death',
    'run-servers',
    'redis-server',
    'ledger',
    'owned-folder',
    'process-table',
  ],
  // The smoke runs of benchmarks.
  ...['bench', 'congestion-service', 'outbox', 'orchestrator'],
];

/** These wait for servers that they have stopped, and judge how long everybody else waits, in seconds. */
const WAITING = [
  ...[
    'failure/backends',
    'failure/store-down',
    'failure/processes',
    'nestjs/shutdown',
    'sharding/redis-outage',
  ],
  ...['outage', 'pg/lost-reply', 'cluster-failover', 'health/health', 'process/stopping'],
];

/** These look at pages in a browser. */
const PAGES = ['embedded', 'redis-and-postgres', 'strangers', 'empty', 'away', 'dashboard'];

const filesOf = (names: readonly string[]) => names.map((name) => `test/**/${name}.serial.test.ts`);

/**
 * `npm test` runs commands and the patient ones beside other runs, then pages, then the waiting ones, then the others alone. By hand it is all of
 * them, one after the other.
 */
const { MILLRACE_SERIAL } = process.env;
const GROUPS: Readonly<Record<string, string[]>> = {
  commands: filesOf(COMMANDS),
  patient: filesOf(PATIENT),
  waiting: filesOf(WAITING),
  pages: filesOf(PAGES),
};
/** Of those that wait for a part of their time. */
const WORKERS: Readonly<Record<string, number>> = { waiting: 4, pages: 3 };
const group = GROUPS[MILLRACE_SERIAL ?? ''];
const include = group ?? [serialTests];
const exclude = MILLRACE_SERIAL === 'alone' ? Object.values(GROUPS).flat() : [];

/** The test kit puts others in the place of modules, which it must then load itself; chaos is a run of its own. */
const APART = ['packages/testkit/**', 'chaos/**'];
const byRoom = projects(include, exclude).map((project) =>
  project.test.name === 'testkit' ? { ...project, test: { ...project.test, isolate: true } } : project,
);

/** Projects run one after the other, and each loads everything anew: what `npm test` runs together is one project. */
const ofGroup = [
  {
    extends: true as const,
    test: { name: 'group', include: inAllRooms(include), exclude: [...APART, ...inAllRooms(exclude)] },
  },
  ...byRoom.filter((project) => project.test.name === 'testkit'),
];

/** Tests about real time and real processes. */
export default defineConfig({
  ...shared,
  test: {
    // Both as in the parallel run.
    isolate: false,
    execArgv: SHORT_LIVED,
    experimental: { fsModuleCache: true },
    projects: MILLRACE_SERIAL ? ofGroup : byRoom,
    sequence: { sequencer: LongFirst },
    fileParallelism: group !== undefined,
    maxWorkers: group ? (WORKERS[MILLRACE_SERIAL ?? ''] ?? 2) : 1,
    // Of the few that say they may run side by side.
    maxConcurrency: 2,
    testTimeout: 60_000,
    // What is looked for in a browser is searched for in the whole page each time.
    expect: { poll: { interval: 200, timeout: 15_000 } },
  },
});
