import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SHORT_LIVED_PGLITE, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { afterEach, expect, it } from 'vitest';
import { PgliteDatabase } from '../../src/index.js';
import { failure, folderPerTest, newPgliteFolder } from '../support.js';

leakCheck();

const program = fileURLToPath(new URL('../fixtures/embedded.mjs', import.meta.url));
const parent = folderPerTest();
let child: ChildProcess | undefined;
let said: string[];
afterEach(() => end('SIGKILL'));

function run(dataDir: string): void {
  said = [];
  child = spawn('node', [...SHORT_LIVED_PGLITE, program, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk;
    said = text.split('\n').slice(0, -1); // The last piece may be half a line.
  });
}

async function end(signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill(signal);
  await closed;
}

const written = (count: number) =>
  until(() => said.length > count, { what: `${count} rows`, deadlineMs: 30_000 });
const acknowledged = () => said.filter((line) => /^\d+$/.test(line)).map(Number);
const rows = async (database: PgliteDatabase) =>
  (await database.query<{ n: number }>('SELECT n FROM written ORDER BY n')).rows.map(({ n }) => n);

it('opened twice: the second gets the pid of the first, and all its data after SIGTERM', async () => {
  using folder = await newPgliteFolder();
  const { dataDir } = folder;
  run(dataDir);
  await written(5);
  const second = new PgliteDatabase({ dataDir });
  expect(await failure(second.start())).toMatchObject({
    code: 'DATABASE_IN_USE',
    message: expect.stringContaining(`process ${child?.pid}`),
  });
  await second.stop();
  await end('SIGTERM');
  expect(said.at(-1)).toBe('closed');
  expect(existsSync(`${dataDir}.lock`)).toBe(false);
  await using database = new PgliteDatabase({ dataDir });
  expect(await rows(database)).toEqual(acknowledged());
});

it('killed in the middle of writing: the next opener finds everything that was acknowledged', async () => {
  using folder = await newPgliteFolder();
  const { dataDir } = folder;
  run(dataDir);
  await written(20);
  await end('SIGKILL');
  expect(existsSync(`${dataDir}.lock`)).toBe(true);
  await using database = new PgliteDatabase({ dataDir });
  const kept = await rows(database);
  expect(kept.slice(0, acknowledged().length)).toEqual(acknowledged());
  expect(kept.length - acknowledged().length).toBeLessThanOrEqual(1);
});

it('killed in the middle of being made: made again, nothing of the first attempt is left', async () => {
  const dataDir = join(parent(), 'data');
  run(dataDir);
  const unfinished = () => readdirSync(parent()).filter((name) => name.includes('.creating-'));
  await until(() => unfinished().some((name) => readdirSync(join(parent(), name)).length > 3), {
    what: 'a half-made database',
    deadlineMs: 30_000,
  });
  await end('SIGKILL');
  expect(unfinished()).toHaveLength(1);
  expect(existsSync(dataDir)).toBe(false);
  await using database = new PgliteDatabase({ dataDir });
  expect((await database.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
  expect(unfinished()).toEqual([]);
});
