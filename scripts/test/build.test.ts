import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { thresholds } from '../../vitest.config.js';
import { removeStaleOutput } from '../build.mjs';
import { pageFingerprint } from '../build-page.mjs';
import { root, tool } from '../command.mjs';

const repository = mkdtempSync(join(tmpdir(), 'build-test-'));
afterAll(() => rmSync(repository, { recursive: true }));

function write(path: string, text = ''): void {
  mkdirSync(dirname(join(repository, path)), { recursive: true });
  writeFileSync(join(repository, path), text);
}

it('the page is built again when one of its inputs changes, and only then', () => {
  const dashboard = ['index.html', 'vite.config.ts', 'package.json', 'src/main.tsx'];
  const inputs = dashboard.map((name) => `apps/dashboard/${name}`);
  inputs.push('packages/contract/src/client/client.ts', 'package-lock.json');
  for (const path of inputs) write(path);
  const seen = new Set([pageFingerprint(repository)]);
  for (const path of ['apps/dashboard/test/main.test.ts', 'apps/server/src/main.ts']) write(path);
  expect(seen).toContain(pageFingerprint(repository));
  for (const path of inputs) {
    write(path, 'changed');
    seen.add(pageFingerprint(repository));
  }
  const source = join(repository, 'apps/dashboard/src');
  renameSync(join(source, 'main.tsx'), join(source, 'other.tsx'));
  seen.add(pageFingerprint(repository));
  expect(seen.size).toBe(inputs.length + 2);
});

it('a build removes the output of deleted sources only', () => {
  for (const path of ['a.ts', 'thread/b.cts', 'page.tsx']) write(`package/src/${path}`);
  const kept = ['a.d.ts', 'a.d.ts.map', 'a.js', 'page.js', 'thread/b.cjs', 'tsconfig.tsbuildinfo'];
  for (const path of [...kept, 'gone.js', 'gone.d.ts.map', 'thread/a.js', 'thread/gone.cjs'])
    write(`package/dist/${path}`);
  removeStaleOutput(join(repository, 'package'));
  const left = readdirSync(join(repository, 'package/dist'), { recursive: true });
  expect(left.filter((path) => path !== 'thread').sort()).toEqual(kept);
});

it('async-utils SC-007, async-utils SC-008: core ≤ 3.5 KB and full ≤ 8 KB, minified and gzipped', async () => {
  const cwd = join(root, 'packages/async-utils');
  const { stdout } = await promisify(execFile)(tool('size-limit'), ['--json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject([
    { name: 'core', sizeLimit: 3500, passed: true },
    { name: 'full', sizeLimit: 8000, passed: true },
  ]);
});

it('async-utils SC-009: coverage below 95 % of the lines fails the test run', () => {
  expect(thresholds).toMatchObject({ 'packages/async-utils/src/**': { lines: 95 } });
});
