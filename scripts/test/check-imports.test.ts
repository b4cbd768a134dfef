import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importProblems } from '../check-imports.mjs';
import { ladderProblems } from '../ladders.mjs';
import { parseSource } from '../source-files.mjs';

const ENTRIES =
  'async-utils contract contract/server-client foundation outbox redis runtime runtime/redis testkit';
const entries = new Set(ENTRIES.split(' ').map((entry) => `@millrace/${entry}`));

const parse = (files: Record<string, string>) =>
  Object.entries(files).map(([path, text]) => parseSource(path, text));
const problemsOf = (files: Record<string, string>): string[] => importProblems(parse(files), entries);
const problemsIn = (path: string, text: string) => problemsOf({ [path]: text });

describe('imports', () => {
  it.each([
    ['packages/foundation/src/a.ts', "import '@millrace/async-utils';"],
    ['packages/async-utils/src/a.ts', "export * from '@millrace/runtime';"],
    ['packages/contract/src/a.ts', "await import('@millrace/foundation');"],
    ['packages/runtime/src/queue.ts', "import '@millrace/redis';"],
    ['packages/runtime/src/a.ts', "import '../../foundation/src/clock.js';"],
    ['packages/runtime/src/queue.ts', "import { Redis } from 'ioredis';"],
    ['packages/outbox/src/poller.ts', "import pg from 'pg';"],
    ['packages/runtime/src/worker.ts', "import { Module } from '@nestjs/common';"],
    ['packages/foundation/src/options.ts', "import { readFileSync } from 'node:fs';"],
    ['packages/runtime/src/rules/a.ts', "import { createHash } from 'node:crypto';"],
    ['packages/novel/src/a.ts', "import './b.js';"],
    ['apps/dashboard/src/a.tsx', "import '@millrace/outbox';"],
    ['apps/dashboard/src/a.ts', "export { ROUTES } from '@millrace/contract';"],
    ['apps/dashboard/src/a.tsx', "import { type ZodType, z } from 'zod';"],
  ])('refuses in %s: %s', (path, text) => {
    expect(problemsIn(path, text)).toHaveLength(1);
  });

  it.each([
    ['packages/runtime/src/redis/queue.ts', "import '@millrace/redis'; import { Redis } from 'ioredis';"],
    ['packages/runtime/src/nestjs.ts', "import { Module } from '@nestjs/common';"],
    ['packages/outbox/src/metrics.ts', "import { Counter } from 'prom-client';"],
    ['packages/runtime/test/worker.test.ts', "import '@millrace/testkit'; import '../src/worker.js';"],
    ['packages/outbox/src/rules/dag.ts', "import '@millrace/foundation'; import './x.js';"],
    ['bench/src/a.ts', "import '@millrace/outbox'; import '@millrace/runtime/redis';"],
    ['apps/dashboard/src/a.tsx', "import type { GroupBody } from '@millrace/contract';"],
    ['apps/dashboard/src/a.tsx', "import { VIEWS } from '@millrace/contract/server-client';"],
  ])('allows in %s: %s', (path, text) => {
    expect(problemsIn(path, text)).toEqual([]);
  });

  it.each([
    ...['Date.now()', 'new Date()', 'Date()', 'performance.now()', 'Math.random()', 'crypto.randomUUID()'],
    ...['setTimeout(() => {}, 5)', 'const later = setImmediate', 'setInterval(f, 1)'],
    ...['AbortSignal.timeout(5)', 'process.hrtime.bigint()', 'globalThis.setTimeout(f, 1)'],
  ])('refuses a clock or randomness in core code: %s', (text) => {
    for (const core of ['foundation/src/options.ts', 'outbox/src/rules/dag.ts', 'redis/src/rules/a.ts'])
      expect(problemsIn(`packages/${core}`, text)).not.toEqual([]);
    for (const other of ['redis/src/link.ts', 'async-utils/src/wait.ts', 'foundation/src/clock.ts'])
      expect(problemsIn(`packages/${other}`, text)).toEqual([]);
  });

  it.each([
    ...['new Date(5)', 'clock.setTimeout(5)', 'const options = { performance: 1 }', 'Math.max(1, 2)'],
    'interface Clock { setTimeout(ms: number): void; at: Date }',
  ])('allows what only looks like it: %s', (text) => {
    expect(problemsIn('packages/foundation/src/options.ts', text)).toEqual([]);
  });

  it.each([
    ['packages/outbox/test/a.test.ts', "import '@millrace/runtime/worker';"],
    ['bench/src/a.ts', "import '@millrace/runtime/src/worker.js';"],
    ['chaos/test/a.test.ts', "import '../../packages/runtime/src/worker.js';"],
  ])('runtime RT-10: refuses an import behind a facade in %s: %s', (path, text) => {
    expect(problemsIn(path, text)).toHaveLength(1);
  });

  it('finds a cycle once, however long', () => {
    const problems = problemsOf({
      'apps/dashboard/src/a.tsx': "import './b.js';",
      'apps/dashboard/src/b.ts': "export { x } from './c.js';",
      'apps/dashboard/src/c.ts': "import type { A } from './a.js';",
      'apps/dashboard/src/d.ts': "import './a.js';",
    });
    const [a, b, c] = ['a.tsx', 'b.ts', 'c.ts'].map((name) => `apps/dashboard/src/${name}`);
    expect(problems).toEqual([`cycle: ${a} → ${b} → ${c} → ${a}`]);
  });
});

describe('ladders', () => {
  const P = 'packages/p/src';
  const LADDERS = { [P]: 'model < rules < . < store < service' };
  /** Checks imports such as `rules/a < store/b`: the first file imports the second. */
  const climb = (imports: string, debt: Record<string, number> = {}) => {
    const files: Record<string, string> = {};
    for (const [from = '', to = ''] of imports.split(', ').map((each) => each.split(' < '))) {
      files[`${P}/${to}.ts`] ??= '';
      files[`${P}/${from}.ts`] = `import './${posix.relative(posix.dirname(from), to)}.js';`;
    }
    return ladderProblems(parse(files), LADDERS, debt);
  };
  const broken = expect.stringContaining(`rules/a.ts imports ${P}/store/b.ts, which comes later`);

  it.each([
    ['a later folder imports an earlier one', 'store/b < rules/a'],
    ['a file has the step of its name', 'store/b < model'],
    ['a folder and the file of its name are one step', 'store < store/c'],
    ['other files are where the dot is', 'a < rules/b, store/c < a'],
    ['index.ts imports everything', 'index < service'],
    ['folders below a step import one another one way', 'store/a < store/sub/b'],
  ])('allows: %s', (_, imports) => {
    expect(climb(imports)).toEqual({ problems: [], lowered: {} });
  });

  it.each([
    ['an earlier folder imports a later one', 'rules/a < store/b', 'comes later in the ladder'],
    ['a file with a step imports one of a later step', 'model < rules', 'comes later'],
    ['another file imports above the dot', 'a < store/b', 'comes later'],
    ['a file imports index.ts', 'service < index', 'comes later'],
    ['a folder has no step', 'novel/a < model', 'has no step'],
    ['folders below a step import each other', 'store/a < store/sub/b, store/sub/b < store/c', 'cycle of'],
  ])('refuses: %s', (_, imports, problem) => {
    expect(climb(imports).problems).toContainEqual(expect.stringContaining(problem));
  });

  it('requires a ladder for every source folder', () => {
    const problem = `${P} has no ladder; add it to LADDERS in scripts/import-rules.mjs`;
    expect(ladderProblems(parse({ [`${P}/a.ts`]: '' }), {}, {}).problems).toEqual([problem]);
  });

  it('allows as many broken imports as are written down, and lets the number only go down', () => {
    const [up, down] = ['rules/a < store/b', 'store/b < rules/a'];
    expect(climb(up, { [P]: 1 })).toEqual({ problems: [], lowered: { [P]: 1 } });
    const tooMany = expect.stringContaining('1 imports break its ladder, 0 are');
    expect(climb(up)).toEqual({ problems: [broken, tooMany], lowered: {} });
    const stale = expect.stringContaining('run node scripts/check-imports.mjs --write');
    expect(climb(down, { [P]: 1 })).toEqual({ problems: [stale], lowered: {} });
    expect(climb(up, { [P]: 9 })).toEqual({ problems: [stale], lowered: { [P]: 1 } });
  });
});
