import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLedger, readLedger } from '../src/ledger.js';
import { buildDist, fixture } from './child-programs.js';

const root = mkdtempSync(join(tmpdir(), 'ledger-test-'));
let files = 0;
const newPath = () => join(root, `${files++}.jsonl`);

beforeAll(buildDist, 30_000);
afterAll(() => rmSync(root, { recursive: true }));

const startWriter = (path: string, count: string) =>
  spawn(process.execPath, [fixture('ledger-writer.mjs'), path, count], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });

it('keeps the entries of all writers in order, with time, process and sequence, but no torn last line', () => {
  const path = newPath();
  for (const kind of ['started', 'charged']) {
    using ledger = openLedger(path);
    ledger.append({ kind, job: 'a' });
  }
  appendFileSync(path, '{"at":1,"pid":2,"se');
  const entry = { at: expect.any(Number), pid: process.pid, seq: 1, job: 'a' };
  expect(readLedger(path)).toEqual([
    { ...entry, kind: 'started' },
    { ...entry, kind: 'charged' },
  ]);
});

it('cannot be read if it is missing, or broken before the last line', () => {
  const path = newPath();
  expect(() => readLedger(path)).toThrow('ENOENT');
  writeFileSync(path, '{"kind":"a"}\n{"kind":"b\n{"kind":"c"}\n');
  expect(() => readLedger(path)).toThrow('broken at line 2: {"kind":"b');
});

it('refuses a line over 4096 bytes, fields of its own, and entries after its end', () => {
  const ledger = openLedger(newPath());
  const empty = JSON.stringify({ at: Date.now(), pid: process.pid, seq: 1, kind: 'k', padding: '' });
  const padding = 'x'.repeat(4_096 - 1 - empty.length);
  expect(() => ledger.append({ kind: 'k', padding: `${padding}x` })).toThrow('at most 4096 bytes, got 4097');
  expect(ledger.append({ kind: 'k', padding }).seq).toBe(1);
  expect(() => ledger.append({ kind: 'k', pid: 1 })).toThrow('pid');
  ledger.close();
  expect(() => ledger.append({ kind: 'late' })).toThrow('has been closed');
});

it('keeps every line whole and each writer in order when several processes write', async () => {
  const path = newPath();
  const writers = [1, 2, 3, 4].map(() => startWriter(path, '3000'));
  const exits = await Promise.all(writers.map((writer) => once(writer, 'exit')));
  expect(exits.map(([code]) => code)).toEqual([0, 0, 0, 0]);
  const entries = readLedger(path);
  const inOrder = Array.from({ length: 3_000 }, (_, i) => i + 1);
  for (const { pid } of writers)
    expect(entries.filter((entry) => entry.pid === pid).map((entry) => entry.seq)).toEqual(inOrder);
});

it('loses nothing that was appended when a writer is killed', async () => {
  const path = newPath();
  const writer = startWriter(path, 'endless');
  let lastSafe = 0;
  for await (const line of createInterface(writer.stdout)) {
    lastSafe = Number(line);
    if (lastSafe === 500) writer.kill('SIGKILL');
  }
  const seqs = readLedger(path).map((entry) => entry.seq);
  expect(seqs.length).toBeGreaterThanOrEqual(lastSafe);
  expect(seqs).toEqual(seqs.map((_, i) => i + 1));
});
