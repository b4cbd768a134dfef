import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statfsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { makeMemoryFolder } from '../memory-folder.mjs';

const SHARED_MEMORY = '/dev/shm';
const TMPFS = 0x01021994;

it('makes a folder in memory and removes those of killed runs, and makes none on a disk', () => {
  expect(makeMemoryFolder(fileURLToPath(new URL('.', import.meta.url)))).toBeUndefined();
  expect(makeMemoryFolder('/no/such/folder')).toBeUndefined();
  if (!existsSync(SHARED_MEMORY) || statfsSync(SHARED_MEMORY).type !== TMPFS) return;
  const { pid } = spawnSync(process.execPath, ['--version']);
  const abandoned = `${SHARED_MEMORY}/millrace-test-${pid}`;
  mkdirSync(`${abandoned}/data`, { recursive: true });
  const memory = makeMemoryFolder();
  expect(existsSync(abandoned)).toBe(memory === undefined);
  expect(memory && existsSync(memory.path)).not.toBe(false);
  memory?.remove();
  expect(memory && existsSync(memory.path)).not.toBe(true);
});
