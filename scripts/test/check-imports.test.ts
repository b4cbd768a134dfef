import { describe, expect, it } from 'vitest';
import { importProblems } from '../check-imports.mjs';
import { ladderProblems } from '../ladders.mjs';
import { parseSource } from '../source-files.mjs';

const names = ['async-utils', 'contract', 'foundation', 'outbox', 'redis', 'runtime', 'testkit'];
const entries = new Set([
  ...names.map((name) => `@millrace/${name}`),
  '@millrace/runtime/redis',
  '@millrace/redis/scripts',
  '@millrace/contract/server-client',
]);
const problemsOf = (files: Record<string, string>): string[] =>
  importProblems(
    Object.entries(files).map(([path, text]) => parseSource(path, text)),
    entries,
  );

describe('imports', () => {
  it.each([
    ['packages/foundation/src/a.ts', "import '@millrace/async-utils';"],
    ['packages/async-utils/src/a.ts', "export * from '@millrace/runtime';"],
    ['packages/contract/src/a.ts', "await import('@millrace/foundation');"],
    ['packages/outbox/src/a.ts', "import x from '@millrace/redis/scripts';"],
    ['packages/runtime/src/queue.ts', "import '@millrace/redis';"],
    ['packages/runtime/src/queue.ts', "import '@millrace/testkit';"],
    ['packages/runtime/src/a.ts', "import '../../foundation/src/clock.js';"],
    ['packages/runtime/src/queue.ts', "import { Redis } from 'ioredis';"],
    ['packages/outbox/src/poller.ts', "import pg from 'pg';"],
    ['packages/runtime/src/worker.ts', "import { Module } from '@nestjs/common';"],
    ['packages/foundation/src/options.ts', "import { readFileSync } from 'node:fs';"],
    ['packages/runtime/src/rules/a.ts', "import { createHash } from 'node:crypto';"],
    ['packages/novel/src/a.ts', "import './b.js';"],
    ['apps/dashboard/src/a.tsx', "import '@millrace/outbox';"],
    ['apps/dashboard/src/a.ts', "import { ROUTES } from '@millrace/contract';"],
    ['apps/dashboard/src/a.ts', "export { ROUTES } from '@millrace/contract';"],
    ['apps/dashboard/src/a.tsx', "import { type ZodType, z } from 'zod';"],
  ])('refuses in %s: %s', (path, text) => {
    expect(problemsOf({ [path]: text })).toHaveLength(1);
  });

  it.each([
    ['packages/runtime/src/redis/queue.ts', "import '@millrace/redis'; import { Redis } from 'ioredis';"],
    ['packages/runtime/src/nestjs.ts', "import { Module } from '@nestjs/common';"],
    ['packages/outbox/src/metrics.ts', "import { Counter } from 'prom-client';"],
    ['packages/runtime/src/worker.ts', "import '@millrace/async-utils'; import '@millrace/foundation';"],
    ['packages/runtime/test/worker.test.ts', "import '@millrace/testkit'; import 'node:fs';"],
    ['packages/outbox/src/rules/dag.ts', "import '@millrace/foundation'; import './x.js';"],
    ['bench/src/a.ts', "import '@millrace/outbox'; import '@millrace/runtime/redis';"],
    ['apps/dashboard/src/a.tsx', "import type { GroupBody } from '@millrace/contract';"],
    ['apps/dashboard/src/a.tsx', "import { VIEWS } from '@millrace/contract/server-client';"],
  ])('allows in %s: %s', (path, text) => {
    expect(problemsOf({ [path]: text })).toEqual([]);
  });

  it.each([
    ...['Date.now()', 'new Date()', 'Date()', 'performance.now()', 'Math.random()', 'crypto.randomUUID()'],
    ...[
      'setTimeout(() => {}, 5)',
      'const later = setImmediate',
      'setInterval(f, 1)',
      'AbortSignal.timeout(5)',
    ],
    ...['process.hrtime.bigint()', 'globalThis.setTimeout(f, 1)'],
  ])('refuses a clock or randomness in core code: %s', (text) => {
    for (const path of [
      'foundation/src/options.ts',
      'outbox/src/rules/dag.ts',
      'redis/src/rules/classify.ts',
    ])
      expect(problemsOf({ [`packages/${path}`]: text }).length).toBeGreaterThan(0);
    for (const path of ['redis/src/link.ts', 'async-utils/src/wait.ts', 'foundation/src/clock.ts'])
      expect(problemsOf({ [`packages/${path}`]: text })).toEqual([]);
  });

  it.each([
    ...['new Date(5)', 'clock.setTimeout(5)', 'const options = { performance: 1 }', 'Math.max(1, 2)'],
    'interface Clock { setTimeout(ms: number): void; at: Date }',
  ])('allows what only looks like it: %s', (text) => {
    expect(problemsOf({ 'packages/foundation/src/options.ts': text })).toEqual([]);
  });

  it.each([
    ['packages/outbox/test/a.test.ts', "import '@millrace/runtime/worker';"],
    ['bench/src/a.ts', "import '@millrace/runtime/src/worker.js';"],
    ['chaos/test/a.test.ts', "import '../../packages/runtime/src/worker.js';"],
    ['packages/outbox/test/a.test.ts', "import '../../runtime/src/index.js';"],
  ])('runtime RT-10: refuses an import behind a facade in %s: %s', (path, text) => {
    expect(problemsOf({ [path]: text })).toHaveLength(1);
    expect(problemsOf({ 'packages/runtime/test/a.test.ts': "import '../src/worker.js';" })).toEqual([]);
  });

  it('finds a cycle once, however long', () => {
    const problems = problemsOf({
      'packages/runtime/src/a.ts': "import './b.js';",
      'packages/runtime/src/b.ts': "export { x } from './c.js';",
      'packages/runtime/src/c.ts': "import type { A } from './a.js';",
      'packages/runtime/src/d.ts': "import './a.js';",
    });
    expect(
      problemsOf({
        'apps/dashboard/src/a.tsx': "import './b.js';",
        'apps/dashboard/src/b.tsx': "import './a.js';",
      }),
    ).toEqual(['cycle: apps/dashboard/src/a.tsx → apps/dashboard/src/b.tsx → apps/dashboard/src/a.tsx']);
    expect(problems).toEqual([
      'cycle: packages/runtime/src/a.ts → packages/runtime/src/b.ts → packages/runtime/src/c.ts → packages/runtime/src/a.ts',
    ]);
  });
});

describe('ladders', () => {
  const LADDERS = { 'packages/p/src': 'model < rules < . < store < service' };
  const climb = (imports: Record<string, string>, debt: Record<string, number> = {}) => {
    const files = Object.entries(imports).map(([path, from]) =>
      parseSource(`packages/p/src/${path}`, from && `import '${from}';`),
    );
    return ladderProblems(files, LADDERS, debt);
  };
  const up = { 'rules/a.ts': '../store/b.js', 'store/b.ts': '' };
  const down = { 'rules/a.ts': '', 'store/b.ts': '../rules/a.js' };
  const broken = expect.stringContaining('rules/a.ts imports packages/p/src/store/b.ts');

  it.each([
    ['a later folder imports an earlier one', down],
    ['a file has the step of its name', { 'model.ts': '', 'store/b.ts': '../model.js' }],
    [
      'a folder and the file of its name are one step',
      { 'service.ts': './service/c.js', 'service/c.ts': '' },
    ],
    [
      'other files are where the dot is',
      { 'a.ts': './rules/b.js', 'rules/b.ts': '', 'store/c.ts': '../a.js' },
    ],
    ['index.ts imports everything', { 'index.ts': './service.js', 'service.ts': '' }],
  ])('allows: %s', (_, imports) => {
    expect(climb(imports).problems).toEqual([]);
  });

  it.each([
    ['an earlier folder imports a later one', up],
    ['a file with a step imports one of a later step', { 'model.ts': './service.js', 'service.ts': '' }],
    ['another file imports above the dot', { 'a.ts': './store/b.js', 'store/b.ts': '' }],
    ['a file imports index.ts', { 'service.ts': './index.js', 'index.ts': '' }],
    ['a folder has no step', { 'novel/a.ts': '' }],
  ])('refuses: %s', (_, imports) => {
    expect(climb(imports).problems).not.toEqual([]);
  });

  it('requires a ladder for every source folder', () => {
    expect(ladderProblems([parseSource('packages/q/src/a.ts', '')], LADDERS, {}).problems).toEqual([
      'packages/q/src has no ladder; add it to LADDERS in scripts/import-rules.mjs',
    ]);
  });

  it('finds folders below a step that import each other', () => {
    const around = { 'store/a.ts': './sub/b.js', 'store/sub/b.ts': '../c.js', 'store/c.ts': '' };
    expect(climb(around).problems).toEqual([
      'cycle of folders: packages/p/src/store → packages/p/src/store/sub → packages/p/src/store',
    ]);
    expect(climb({ ...around, 'store/sub/b.ts': '' }).problems).toEqual([]);
  });

  it('allows as many broken imports as are written down', () => {
    expect(climb(up, { 'packages/p/src': 1 })).toEqual({ problems: [], lowered: { 'packages/p/src': 1 } });
  });

  it('refuses more broken imports and names them', () => {
    expect(climb(up).problems).toEqual([
      broken,
      expect.stringContaining('1 imports break its ladder, 0 are'),
    ]);
  });

  it('refuses a number that was not lowered, and lowers but never raises it', () => {
    expect(climb(down, { 'packages/p/src': 1 })).toEqual({
      problems: [expect.stringContaining('run node scripts/check-imports.mjs --write')],
      lowered: {},
    });
    expect(climb(up, { 'packages/p/src': 9 }).lowered).toEqual({ 'packages/p/src': 1 });
    expect(climb(up).lowered).toEqual({});
  });
});
