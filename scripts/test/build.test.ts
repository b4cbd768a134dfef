import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { removeStaleOutput } from '../build.mjs';
import { pageFingerprint } from '../build-page.mjs';

const repository = mkdtempSync(join(tmpdir(), 'build-test-'));
afterAll(() => rmSync(repository, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(repository, path)), { recursive: true });
  writeFileSync(join(repository, path), text);
}

it('the page is built again when one of its inputs changes, and only then', () => {
  const dashboard = ['index.html', 'vite.config.ts', 'package.json', 'src/main.tsx'];
  const inputs = [
    ...dashboard.map((name) => `apps/dashboard/${name}`),
    ...['packages/contract/src/client/client.ts', 'package-lock.json'],
  ];
  for (const path of inputs) write(path, 'before');
  const seen = new Set([pageFingerprint(repository)]);
  for (const path of ['apps/dashboard/test/main.test.ts', 'apps/server/src/main.ts', ...inputs])
    write(path, 'before');
  expect(seen).toContain(pageFingerprint(repository));
  for (const path of inputs) {
    write(path, 'after');
    seen.add(pageFingerprint(repository));
  }
  const source = join(repository, 'apps/dashboard/src');
  renameSync(join(source, 'main.tsx'), join(source, 'other.tsx'));
  seen.add(pageFingerprint(repository));
  expect(seen.size).toBe(inputs.length + 2);
});

it('a build removes the output of deleted sources only', () => {
  for (const path of ['a.ts', 'thread/b.cts', 'page.tsx']) write(`package/src/${path}`, '');
  const kept = [
    'a.d.ts',
    'a.d.ts.map',
    'a.js',
    'page.js',
    'tsconfig.tsbuildinfo',
    'thread/b.cjs',
    'thread/b.d.cts',
  ];
  for (const path of [...kept, 'gone.js', 'gone.d.ts.map', 'thread/a.js', 'thread/gone.cjs'])
    write(`package/dist/${path}`, '');
  removeStaleOutput(join(repository, 'package'));
  const left = readdirSync(join(repository, 'package/dist'), { recursive: true });
  expect(left.filter((path) => path !== 'thread').sort()).toEqual(kept.sort());
});
