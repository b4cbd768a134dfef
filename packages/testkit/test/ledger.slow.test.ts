import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLedger, readLedger } from '../src/ledger.js';
import { buildDist, fixture } from './child-programs.js';

const root = mkdtempSync(join(tmpdir(), 'ledger-test-'));
const program = fixture('ledger-writer.mjs');
let files = 0;
const newPath = () => join(root, `${files++}.jsonl`);

beforeAll(buildDist, 30_000);
afterAll(() => rmSync(root, { recursive: true }));

describe('a ledger', () => {
  it('keeps the entries of all writers in order, with time, process and sequence', () => {
    const path = newPath();
    for (const kind of ['started', 'charged']) {
      using ledger = openLedger(path);
      ledger.append({ kind, job: 'a' });
    }
    const entry = { at: expect.any(Number), pid: process.pid, seq: 1, job: 'a' };
    expect(readLedger(path)).toEqual([
      { ...entry, kind: 'started' },
      { ...entry, kind: 'charged' },
    ]);
  });

  it('refuses a line over 4096 bytes, fields of its own, and entries after its end', () => {
    const path = newPath();
    const ledger = openLedger(path);
    const empty = JSON.stringify({ at: Date.now(), pid: process.pid, seq: 1, kind: 'k', padding: '' });
    const padding = 'x'.repeat(4_096 - 1 - empty.length);
    expect(() => ledger.append({ kind: 'k', padding: `${padding}x` })).toThrow(
      'at most 4096 bytes, got 4097',
    );
    expect(ledger.append({ kind: 'k', padding }).seq).toBe(1);
    expect(() => ledger.append({ kind: 'k', pid: 1 })).toThrow('pid');
    ledger.close();
    expect(() => ledger.append({ kind: 'late' })).toThrow('has been closed');
  });

  it('leaves out a torn last line, and refuses a ledger that is broken elsewhere or missing', () => {
    const path = newPath();
    using ledger = openLedger(path);
    ledger.append({ kind: 'whole' });
    appendFileSync(path, '{"at":1,"pid":2,"se');
    expect(readLedger(path).map((entry) => entry.kind)).toEqual(['whole']);
    writeFileSync(path, '{"kind":"a"}\n{"kind":"b\n{"kind":"c"}\n');
    expect(() => readLedger(path)).toThrow('broken at line 2: {"kind":"b');
    expect(() => readLedger(newPath())).toThrow('ENOENT');
  });
});

describe('a ledger that several processes write', () => {
  it('keeps every line whole and each writer in order', async () => {
    const path = newPath();
    const writers = [1, 2, 3, 4].map(() =>
      spawn(process.execPath, [program, path, '3000'], { stdio: 'inherit' }),
    );
    const exits = await Promise.all(writers.map((writer) => once(writer, 'exit')));
    expect(exits.map(([code]) => code)).toEqual([0, 0, 0, 0]);
    const entries = readLedger(path);
    const inOrder = Array.from({ length: 3_000 }, (_, i) => i + 1);
    for (const { pid } of writers)
      expect(entries.filter((entry) => entry.pid === pid).map((entry) => entry.seq)).toEqual(inOrder);
  });

  it('loses nothing that was appended when a writer is killed', async () => {
    const path = newPath();
    const writer = spawn(process.execPath, [program, path, 'endless'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let lastSafe = 0;
    const lines = createInterface(writer.stdout);
    lines.on('line', (line) => {
      lastSafe = Number(line);
      if (lastSafe === 500) writer.kill('SIGKILL');
    });
    await once(lines, 'close');
    const seqs = readLedger(path).map((entry) => entry.seq);
    expect(seqs.length).toBeGreaterThanOrEqual(lastSafe);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  });
});
