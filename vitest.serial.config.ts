import { defineConfig } from 'vitest/config';
import { inAllRooms, LongFirst, projects, SHORT_LIVED, serialTests, shared } from './vitest.config.ts';

/** These run what users run, from the build: programs of the documentation, the command line, packages as they are packed. */
const COMMANDS = [
  ...['snippets', 'examples', 'nestjs/packed', 'nestjs/versions', 'facade'],
  ...['process/readme', 'process/cli', 'process/watch', 'compose/load-app', 'process/packed'],
];

/** The smoke runs of benchmarks. */
const BENCHES = ['bench', 'congestion-service', 'outbox', 'orchestrator'];

/** These need servers or processes of their own, or much memory, but judge no time. */
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
    'lanes/memory',
  ],
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

/** Groups of files, and how many of them run at once: more of those that wait for a part of their time. */
const GROUPS = {
  commands: { include: filesOf(COMMANDS), workers: 2 },
  benches: { include: filesOf(BENCHES), workers: 2 },
  patient: { include: filesOf(PATIENT), workers: 2 },
  pages: { include: filesOf(PAGES), workers: 3 },
  waiting: { include: filesOf(WAITING), workers: 4 },
  alone: { include: [serialTests], workers: 1 },
};
const others = Object.entries(GROUPS).flatMap(([name, { include }]) => (name === 'alone' ? [] : include));

/**
 * `npm test` runs commands, benches and the patient ones beside other runs, and then, one after the other, those that want quiet. By hand
 * it is all of them, file after file.
 */
const RUNS: Readonly<Record<string, readonly (keyof typeof GROUPS)[]>> = {
  commands: ['commands'],
  benches: ['benches'],
  patient: ['patient'],
  quiet: ['pages', 'waiting', 'alone'],
};
const { MILLRACE_SERIAL = '' } = process.env;
const groups = RUNS[MILLRACE_SERIAL];

/** The test kit puts others in the place of modules, which it must then load itself; chaos is a run of its own. */
const APART = ['packages/testkit/**', 'chaos/**'];
const roomsWith = (include: string[]) =>
  projects(include, []).map((project) =>
    project.test.name === 'testkit' ? { ...project, test: { ...project.test, isolate: true } } : project,
  );
const ofTestkit = roomsWith(GROUPS.patient.include).filter(({ test }) => test.name === 'testkit');

/** Each project loads everything anew: what runs together is one. */
const projectOf = (name: keyof typeof GROUPS, groupOrder: number) => {
  const { include, workers } = GROUPS[name];
  const exclude = name === 'alone' ? inAllRooms(others) : [];
  return {
    extends: true as const,
    test: {
      name,
      include: inAllRooms(include),
      exclude: [...APART, ...exclude],
      fileParallelism: workers > 1,
      maxWorkers: workers,
      sequence: { groupOrder },
    },
  };
};

/** Tests about real time and real processes. */
export default defineConfig({
  ...shared,
  test: {
    // Both as in the parallel run.
    isolate: false,
    execArgv: SHORT_LIVED,
    experimental: { fsModuleCache: true },
    projects: groups
      ? [...groups.map(projectOf), ...(groups.includes('patient') ? ofTestkit : [])]
      : roomsWith([serialTests]),
    sequence: { sequencer: LongFirst },
    fileParallelism: false,
    maxWorkers: 1,
    // Of the few that say they may run side by side.
    maxConcurrency: 2,
    testTimeout: 60_000,
    // What is looked for in a browser is searched for in the whole page each time.
    expect: { poll: { interval: 200, timeout: 15_000 } },
  },
});
