import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { findServerBinaries } from '../server-binaries.mjs';
import { findBinary } from '../src/machine.js';

const root = mkdtempSync(join(tmpdir(), 'machine-test-'));
afterAll(() => rmSync(root, { recursive: true }));

function folderWith(name: string, ...programs: string[]): string {
  const folder = join(root, name);
  mkdirSync(folder);
  for (const program of programs) writeFileSync(join(folder, program), '', { mode: 0o755 });
  return folder;
}

it('finds programs in the first folder, and postgres and initdb in the same one', () => {
  const half = folderWith('half', 'postgres', 'google-chrome');
  const whole = folderWith('whole', 'postgres', 'initdb');
  writeFileSync(join(whole, 'redis-server'), 'It cannot be run.');
  expect(findServerBinaries([half, whole])).toEqual({
    'redis-server': undefined,
    postgres: join(whole, 'postgres'),
    initdb: join(whole, 'initdb'),
    curl: undefined,
    chromium: join(half, 'google-chrome'),
  });
});

it('names the command that installs a missing program', () => {
  expect(() => findBinary('initdb', findServerBinaries([]))).toThrow('`apt-get install postgresql`');
});
