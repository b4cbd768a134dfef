import { describe, expect, it } from 'vitest';
import { importProblems } from '../check-imports.mjs';
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
    ['foundation imports nothing of ours', 'packages/foundation/src/a.ts', "import '@millrace/async-utils';"],
    ['imports point down only', 'packages/async-utils/src/a.ts', "export * from '@millrace/runtime';"],
    ['redis only from src/redis', 'packages/runtime/src/queue.ts', "import '@millrace/redis';"],
    ['testkit is for tests only', 'packages/runtime/src/queue.ts', "import '@millrace/testkit';"],
    ['subpaths count too', 'packages/outbox/src/a.ts', "import x from '@millrace/redis/scripts';"],
    ['dynamic imports count too', 'packages/contract/src/a.ts', "await import('@millrace/foundation');"],
    ['the dashboard knows contract only', 'apps/dashboard/src/a.tsx', "import '@millrace/outbox';"],
    ['the page takes no schemas', 'apps/dashboard/src/a.ts', "import { ROUTES } from '@millrace/contract';"],
    ['nor exports them', 'apps/dashboard/src/a.ts', "export { ROUTES } from '@millrace/contract';"],
    ['nor loads them late', 'apps/dashboard/src/a.ts', "await import('@millrace/contract');"],
    ['the page has no zod', 'apps/dashboard/src/a.tsx', "import { type ZodType, z } from 'zod';"],
    [
      'no way around the package name',
      'packages/runtime/src/a.ts',
      "import '../../foundation/src/clock.js';",
    ],
    ['ioredis at home only', 'packages/runtime/src/queue.ts', "import { Redis } from 'ioredis';"],
    ['pg at home only', 'packages/outbox/src/poller.ts', "import pg from 'pg';"],
    ['NestJS in nestjs/ only', 'packages/runtime/src/worker.ts', "import { Module } from '@nestjs/common';"],
    ['no I/O in core code', 'packages/foundation/src/options.ts', "import { readFileSync } from 'node:fs';"],
    ['rules are pure', 'packages/runtime/src/rules/a.ts', "import { createHash } from 'node:crypto';"],
    ['a new package needs a layer', 'packages/novel/src/a.ts', "import './b.js';"],
  ])('refuses: %s', (_, path, text) => {
    expect(problemsOf({ [path]: text })).toHaveLength(1);
  });

  it.each([
    ['packages/runtime/src/redis/queue.ts', "import '@millrace/redis'; import { Redis } from 'ioredis';"],
    ['packages/runtime/src/worker.ts', "import '@millrace/async-utils'; import '@millrace/foundation';"],
    ['packages/runtime/test/worker.test.ts', "import '@millrace/testkit'; import 'node:fs';"],
    [
      'packages/async-utils/src/nestjs/module.ts',
      "import { Module } from '@nestjs/common'; import '../retry.js';",
    ],
    [
      'packages/outbox/src/rules/dag.ts',
      "import { seededRng } from '@millrace/foundation'; import './x.js';",
    ],
    ['bench/src/a.ts', "import '@millrace/outbox';"],
    [
      'apps/dashboard/src/a.tsx',
      "import type { GroupBody } from '@millrace/contract'; import { VIEWS } from '@millrace/contract/server-client';",
    ],
  ])('allows what belongs there: %s', (path, text) => {
    expect(problemsOf({ [path]: text })).toEqual([]);
  });

  it.each([
    'Date.now()',
    'new Date()',
    'Date()',
    'performance.now()',
    'setTimeout(() => {}, 5)',
    'const later = setImmediate',
    'setInterval(f, 1)',
    'AbortSignal.timeout(5)',
    'Math.random()',
    'crypto.randomUUID()',
    'process.hrtime.bigint()',
    'globalThis.setTimeout(f, 1)',
  ])('refuses a clock or randomness in core code: %s', (text) => {
    expect(problemsOf({ 'packages/foundation/src/options.ts': text }).length).toBeGreaterThan(0);
    expect(problemsOf({ 'packages/outbox/src/rules/dag.ts': text }).length).toBeGreaterThan(0);
    expect(problemsOf({ 'packages/redis/src/rules/classify.ts': text }).length).toBeGreaterThan(0);
    expect(problemsOf({ 'packages/redis/src/link.ts': text })).toEqual([]);
    expect(problemsOf({ 'packages/async-utils/src/wait.ts': text })).toEqual([]);
    expect(problemsOf({ 'packages/foundation/src/system/clock.ts': text })).toEqual([]);
  });

  it.each([
    'new Date(5)',
    'interface Clock { setTimeout(ms: number): void; at: Date }',
    'clock.setTimeout(5)',
    'const options = { performance: 1 }',
    'Math.max(1, 2)',
  ])('allows what only looks like it: %s', (text) => {
    expect(problemsOf({ 'packages/foundation/src/options.ts': text })).toEqual([]);
  });

  it.each([
    ['packages/outbox/test/a.test.ts', "import '@millrace/runtime/worker';"],
    ['bench/src/a.ts', "import '@millrace/runtime/src/worker.js';"],
    ['chaos/test/a.test.ts', "import '../../packages/runtime/src/worker.js';"],
    ['packages/outbox/test/a.test.ts', "import '../../runtime/src/index.js';"],
  ])('runtime RT-10: nobody reaches behind a facade: %s %s', (path, text) => {
    expect(problemsOf({ [path]: text })).toHaveLength(1);
  });

  it('a facade has the subpaths of its exports map, and a package may look into itself', () => {
    expect(problemsOf({ 'chaos/src/a.ts': "import '@millrace/runtime/redis';" })).toEqual([]);
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
