import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { pageFingerprint } from '../build-page.mjs';

const repository = mkdtempSync(join(tmpdir(), 'build-page-test-'));
afterAll(() => rmSync(repository, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(repository, path)), { recursive: true });
  writeFileSync(join(repository, path), text);
}

it('the page is built again when anything that it is made of is otherwise, and only then', () => {
  const inputs = [
    ...['index.html', 'vite.config.ts', 'package.json', 'src/main.tsx'].map(
      (name) => `apps/dashboard/${name}`,
    ),
    ...['packages/contract/src/client/client.ts', 'package-lock.json'],
  ];
  for (const path of inputs) write(path, 'before');
  const seen = new Set([pageFingerprint(repository)]);
  write('apps/dashboard/test/main.test.ts', 'a test');
  write('apps/server/src/main.ts', 'a server');
  for (const path of inputs) write(path, 'before');
  expect(seen).toContain(pageFingerprint(repository));
  for (const path of inputs) {
    write(path, 'after');
    seen.add(pageFingerprint(repository));
  }
  renameSync(
    join(repository, 'apps/dashboard/src/main.tsx'),
    join(repository, 'apps/dashboard/src/other.tsx'),
  );
  seen.add(pageFingerprint(repository));
  expect(seen.size).toBe(inputs.length + 2);
});
