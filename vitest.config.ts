import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { standardDecorators } from './packages/async-utils/test/nestjs/standard/plugin.js';
import { expectFiles } from './scripts/coverage.js';

// Workspaces are tested from source, without a build. Vitest also passes these to Node as --conditions. There 'import' or
// 'module' would make `require` pick ESM files, which breaks CommonJS packages such as pg and prom-client.
const conditions = ['@millrace/source', 'node'];

/** A worker uses less than one core, because tests wait for servers, timers and processes. */
const atLeast = (workers: number) => Math.max(workers, availableParallelism() - 1);

/** Test files by the end of their names, in one workspace or in all. */
const files = (ending: string, workspace = '{packages/*,apps/*,bench,chaos,scripts,examples}') => [
  `${workspace}/test/**/*${ending}.test.ts`,
];

/** Passes the number of files to the coverage of the workers. */
class Sequencer extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    expectFiles(specifications.length, this.ctx.config.maxWorkers);
    return super.sort(specifications);
  }
}

const PACKAGES = [
  'foundation',
  'redis',
  'postgres',
  'runtime',
  'bulk-action',
  'outbox',
  'contract',
  'orchestrator',
];
const sourceOf = ['apps/server', ...PACKAGES.map((name) => `packages/${name}`)].map(
  (folder) => `${folder}/src/**`,
);

/** A run with less coverage fails. */
export const thresholds = {
  ...Object.fromEntries(sourceOf.map((source) => [source, { lines: 80, branches: 70 }])),
  'packages/async-utils/src/**': { lines: 95, branches: 70 },
  'packages/orchestrator/src/inline-fast-path-runner.ts': { lines: 85 },
  'packages/orchestrator/src/operation-handle.ts': { lines: 90 },
};

const SHARED = {
  plugins: [standardDecorators()],
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
};

const SHARED_TEST = {
  sequence: { sequencer: Sequencer },
  testTimeout: 60_000,
  maxConcurrency: 2,
  // One process per worker loads modules once. A process per file costs more than most files take.
  isolate: false,
  // The runs of `npm test` share most of their modules.
  experimental: { fsModuleCache: true },
  // PGlite runs for seconds in these processes, too short to gain from a second compilation. No core is free for threads that
  // collect garbage, and more room for young objects lets it run less often.
  execArgv: [
    '--liftoff-only',
    '--single-threaded-gc',
    '--min-semi-space-size=16',
    '--max-semi-space-size=64',
  ],
};

/** A group of the serial tests. Groups run one after the other. */
const serial = (name: string, groupOrder: number, test: object) => ({
  ...SHARED,
  test: { ...SHARED_TEST, name, sequence: { groupOrder }, ...test },
});

/**
 * The end of a file's name says how it runs, and `--mode` chooses:
 * - `x.test.ts` by default: measured by coverage;
 * - `x.slow.test.ts` with `--mode slow`: not measured, because it repeats what others cover or starts programs of the build;
 * - `x.serial.test.ts` with `--mode serial`: needs a quiet machine, because it stops servers or draws pages and limits how long that may take;
 * - `x.alone.test.ts` with `--mode serial`: needs all cores, because it measures speed, rates or memory.
 */
const MODES: Readonly<Record<string, object>> = {
  test: {
    include: files(''),
    exclude: ['.slow', '.serial', '.alone'].flatMap((ending) => files(ending)),
    maxWorkers: atLeast(2),
    testTimeout: 20_000,
  },
  slow: { include: files('.slow'), maxWorkers: atLeast(3) },
  serial: {
    projects: [
      serial('pages', 1, {
        include: files('.serial', 'apps/dashboard'),
        maxWorkers: 3,
        // The whole page is searched each time.
        expect: { poll: { interval: 200, timeout: 15_000 } },
      }),
      serial('serial', 2, {
        include: files('.serial'),
        exclude: files('.serial', 'apps/dashboard'),
        maxWorkers: 4,
      }),
      serial('alone', 3, { include: files('.alone'), maxWorkers: 1 }),
    ],
  },
  alone: { include: files('.alone'), maxWorkers: 1 },
};

/** The ending of a file that is named on the command line; such a file needs no `--mode`. */
const ending = /\.(slow|serial|alone)\.test\b/.exec(process.argv.join(' '))?.[1];

export default defineConfig(({ mode }) => ({
  ...SHARED,
  test: {
    ...SHARED_TEST,
    ...MODES[mode === 'test' && ending ? ending : mode],
    coverage: {
      provider: 'custom',
      customProviderModule: './scripts/coverage.ts',
      reporter: ['text-summary', 'json-summary'],
      include: ['packages/*/src/**/*.ts', 'apps/*/src/**/*.ts'],
      exclude: ['packages/testkit/**', '**/index.ts'],
      thresholds,
    },
  },
}));
