import { existsSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { standardDecorators } from './packages/async-utils/test/nestjs/standard/plugin.js';
import { expectFiles } from './vitest.coverage.config.js';

// Workspaces are tested from source: no build stands between an edit and its test. Vitest hands these to Node as
// --conditions too, where 'import' would make `require` pick ESM files and break CommonJS packages such as pg.
const conditions = ['@millrace/source', 'node', 'module'];

const rooms = [
  ...readdirSync('packages').map((name) => `packages/${name}`),
  ...readdirSync('apps').map((name) => `apps/${name}`),
  'bench',
  'chaos',
  'scripts',
  'examples',
];

export const serialTests = 'test/**/*.serial.test.ts';

/**
 * These go again and again through what other tests have been through once: counting lines costs them a third of their time, and
 * finds nothing more.
 */
const REPEATING = [
  ...['differential/**', 'redis/differential', 'redis/lost-replies'],
  ...['limits/**', 'fairness/**', 'sharding/redis', 'property/**', 'contract/pglite', 'batch/batch-routes'],
  ...['failure/lost-replies', 'failure/races', 'failure/conflicts', 'failure/retry-races', 'failure/claims'],
  ...['congestion/**', 'simulation/**', 'contract/postgres', 'redis/acl', 'redis/usual-mutants'],
  ...['memory/cancel', 'explain/gates', 'schedules/instances', 'rules/validate-dag', 'rules/reopen'],
].map((name) => `test/${name.replace(/\*\*$/, '**/*')}.test.ts`);

/** `npm test` runs all of these apart from the others, whose lines it counts; by hand they are together. */
const { MILLRACE_PARALLEL } = process.env;
const parallelTests = MILLRACE_PARALLEL === 'repeating' ? REPEATING : ['test/**/*.test.ts'];
const otherTests = MILLRACE_PARALLEL === 'counted' ? [serialTests, ...REPEATING] : [serialTests];

/** Small files with much behind them: begun last, each would have the machine to itself at the end. */
const LONG =
  /\/(contract\/(pglite|postgres)|redis\/(acl|differential|lost-replies)|sharding\/redis|failure\/lost-replies|batch\/batch-routes|schedules\/instances|outbox\/test\/registry|congestion\/engine-\w+|simulation|sql-mutants|bench\/test\/\w+\.serial|server\/test\/failure\/backends\.serial|process\/(cli|packed|readme)\.serial|dashboard\/test\/(embedded|redis-and-postgres|away)\.serial|nestjs\/packed\.serial)\.test\.ts$/;

/** Of these the two that take longest, one on each core. */
const LONGEST = /\/dashboard\/test\/(embedded|redis-and-postgres)\.serial\.test\.ts$/;

/** Vitest begins with the largest files, for want of anything better to go by. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    if (this.ctx.config.coverage.enabled) expectFiles(files.length, this.ctx.config.maxWorkers);
    const rank = ({ moduleId }: TestSpecification) =>
      LONGEST.test(moduleId) ? 0 : LONG.test(moduleId) ? 1 : 2;
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

/** Patterns below a workspace, for all of them. */
export const inAllRooms = (patterns: readonly string[]) =>
  rooms.flatMap((room) => patterns.map((pattern) => `${room}/${pattern}`));

/** One project per workspace, for the serial run: it is told which to leave out. */
export function projects(include: string[], exclude: string[]) {
  return rooms
    .filter((root) => existsSync(`${root}/test`))
    .map((root) => ({
      extends: true as const,
      root,
      test: { name: root.replace(/^(packages|apps)\//, ''), include, exclude },
    }));
}

/**
 * Flags of Node for processes that run tests. The embedded PostgreSQL runs there for seconds: compiling it a second time, for speed, costs
 * more than it gains. Nor are there cores to spare for threads that collect garbage, and with more room for young objects it is done less often
 * (a tenth less time of the simulation).
 */
export const SHORT_LIVED = [
  '--liftoff-only',
  '--single-threaded-gc',
  '--min-semi-space-size=16',
  '--max-semi-space-size=64',
];

export const shared = {
  plugins: [standardDecorators()],
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
};

export default defineConfig({
  ...shared,
  test: {
    // One project for all: the packages stand on each other, and each project would read and load them again.
    include: inAllRooms(parallelTests),
    exclude: inAllRooms(otherTests),
    sequence: { sequencer: LongFirst },
    testTimeout: 20_000,
    // A process of its own for every file costs more than most files take: modules are loaded once for each worker.
    isolate: false,
    execArgv: SHORT_LIVED,
    // The runs of `npm test` share most of their modules.
    experimental: { fsModuleCache: true },
    // One less than there are cores unless told, which on two cores is no parallelism at all.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    coverage: {
      provider: 'custom',
      customProviderModule: './vitest.coverage.config.ts',
      reporter: ['text-summary', 'json-summary'],
      include: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts'],
      exclude: ['packages/testkit/**', '**/index.ts'],
      thresholds: {
        'packages/async-utils/src/**': { lines: 95, branches: 70 },
        'packages/foundation/src/**': { lines: 80, branches: 70 },
        'packages/redis/src/**': { lines: 80, branches: 70 },
        'packages/postgres/src/**': { lines: 80, branches: 70 },
        'packages/runtime/src/**': { lines: 80, branches: 70 },
        'packages/bulk-action/src/**': { lines: 80, branches: 70 },
        'packages/outbox/src/**': { lines: 80, branches: 70 },
        'packages/contract/src/**': { lines: 80, branches: 70 },
        'packages/orchestrator/src/**': { lines: 80, branches: 70 },
        'apps/server/src/**': { lines: 80, branches: 70 },
        'packages/orchestrator/src/inline-fast-path-runner.ts': { lines: 85 },
        'packages/orchestrator/src/operation-handle.ts': { lines: 90 },
      },
    },
  },
});
