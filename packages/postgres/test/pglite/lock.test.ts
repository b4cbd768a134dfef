import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, seededRng, silentLogger, systemClock } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { beforeEach, expect, it } from 'vitest';
import { DirectoryLock, directoryHolder, ownIdentity, type ProcessIdentity } from '../../src/pglite/lock.js';
import { failure, folderPerTest } from '../support.js';

leakCheck();

const parent = folderPerTest();
let directory: string;
let folder: string;
beforeEach(() => {
  directory = join(parent(), 'deep', 'data');
  folder = `${directory}.lock`;
});

const take = (seed = 1, clock: Clock = systemClock) =>
  DirectoryLock.take(directory, { clock, rng: seededRng(seed), logger: silentLogger });
const files = () => readdirSync(folder);
/** Writes the file of another holder. */
function leaveBehind(content: Partial<ProcessIdentity> | string, ageMs = 0): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'left-behind.json');
  const text = typeof content === 'string' ? content : JSON.stringify({ ...ownIdentity(), ...content });
  writeFileSync(file, text);
  const then = new Date(Date.now() - ageMs);
  utimesSync(file, then, then);
  return file;
}

it('is held by one process, which the error for the next one names, and leaves nothing behind', async () => {
  const lock = await take();
  expect(await failure(take())).toMatchObject({
    code: 'DATABASE_IN_USE',
    message: expect.stringContaining(`process ${process.pid} on`),
  });
  expect(directoryHolder(directory)).toMatchObject({ pid: process.pid });
  expect(files()).toHaveLength(1);
  lock.release();
  lock.release();
  expect(directoryHolder(directory)).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
  (await take()).release();
});

it.each<[string, Partial<ProcessIdentity> | string, number, isTaken: boolean]>([
  ['a process that is gone', { pid: 2 ** 22 + 1 }, 0, true],
  ['a process whose pid another process has now', { startedAt: '1' }, 0, true],
  ['a process that lives', {}, 31_000, false],
  ['another machine or container that was silent for half a minute', { world: 'elsewhere' }, 31_000, true],
  ['another machine or container that was silent for less', { world: 'elsewhere' }, 0, false],
  ['a process that died while it wrote its file', '{"pid":', 31_000, true],
  ['a process that is writing its file', '{"pid":', 0, false],
])('left by %s (file %o, %d ms old) is free: %s', async (_, left, ageMs, isTaken) => {
  const file = leaveBehind(left, ageMs);
  expect(directoryHolder(directory) === undefined).toBe(isTaken);
  expect(existsSync(file)).toBe(true);
  if (isTaken) (await take()).release();
  else expect(await failure(take())).toMatchObject({ code: 'DATABASE_IN_USE' });
  expect(existsSync(file)).toBe(!isTaken);
});

it('touches its file while it is held, for machines that cannot see its process', async () => {
  const clock = new ManualClock();
  const lock = await take(1, clock);
  const file = join(folder, files()[0] ?? '');
  const longAgo = new Date(Date.now() - 60_000);
  for (let beat = 0; beat < 3; beat++) {
    utimesSync(file, longAgo, longAgo);
    await clock.advance(5_000);
    expect(Date.now() - statSync(file).mtimeMs).toBeLessThan(30_000);
  }
  lock.release();
});

it('of many openers at once, beside the file of a dead one, never two have it', async () => {
  leaveBehind({ pid: 2 ** 22 + 1 });
  let holders = 0;
  let taken = 0;
  const contend = async (seed: number) => {
    for (let round = 0; round < 10; round++) {
      const lock = await take(seed * 100 + round).catch(() => undefined);
      if (!lock) continue;
      taken++;
      expect(++holders).toBe(1);
      await Promise.resolve();
      holders--;
      lock.release();
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, seed) => contend(seed)));
  expect(taken).toBeGreaterThan(0);
  (await take()).release();
});
