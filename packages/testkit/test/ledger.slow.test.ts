import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLedger } from '../src/ledger.js';
import { buildDist, fixture } from './child-programs.js';

const root = mkdtempSync(join(tmpdir(), 'ledger-test-'));
const program = fixture('ledger-writer.mjs');

beforeAll(buildDist);
afterAll(() => rmSync(root, { recursive: true }));

describe('a ledger that several processes write', () => {
  it('keeps every line whole and each writer in order', async () => {
    const path = join(root, 'shared.jsonl');
    const writers = [1, 2, 3, 4].map(() =>
      spawn(process.execPath, [program, path, '3000'], { stdio: 'inherit' }),
    );
    const exits = await Promise.all(writers.map((writer) => once(writer, 'exit')));
    expect(exits.map(([code]) => code)).toEqual([0, 0, 0, 0]);

    const entries = readLedger(path);
    expect(entries).toHaveLength(12_000);
    const inOrder = Array.from({ length: 3_000 }, (_, i) => i + 1);
    for (const { pid } of writers) {
      expect(entries.filter((entry) => entry.pid === pid).map((entry) => entry.seq)).toEqual(inOrder);
    }
  });

  it('has lost nothing that was appended when a writer is killed', async () => {
    const path = join(root, 'killed.jsonl');
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

    expect(lastSafe).toBeGreaterThanOrEqual(500);
    const seqs = readLedger(path).map((entry) => entry.seq);
    expect(seqs.length).toBeGreaterThanOrEqual(lastSafe);
    expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  });
});
