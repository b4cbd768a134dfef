import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type LedgerNote, openLedger, readLedger } from '../src/ledger.js';

const root = mkdtempSync(join(tmpdir(), 'ledger-test-'));
afterAll(() => rmSync(root, { recursive: true }));

let files = 0;
const newPath = () => join(root, `${files++}.jsonl`);

describe('ledger', () => {
  it('keeps entries in order with time, process and sequence', () => {
    const path = newPath();
    const before = Date.now();
    const ledger = openLedger(path);
    const first = ledger.append({ kind: 'started', job: 'a', attempt: 1 });
    ledger.append({ kind: 'charged', job: 'a' });
    ledger.close();
    expect(first.at).toBeGreaterThanOrEqual(before);
    expect(readLedger(path)).toEqual([
      { at: first.at, pid: process.pid, seq: 1, kind: 'started', job: 'a', attempt: 1 },
      { at: expect.any(Number), pid: process.pid, seq: 2, kind: 'charged', job: 'a' },
    ]);
  });

  it('appends to what is there', () => {
    const path = newPath();
    for (const kind of ['first', 'second']) {
      using ledger = openLedger(path);
      ledger.append({ kind });
    }
    expect(readLedger(path).map((entry) => entry.kind)).toEqual(['first', 'second']);
  });

  it('refuses a line over 4096 bytes and takes one of exactly that', () => {
    const path = newPath();
    using ledger = openLedger(path);
    const bytesWithout = (note: LedgerNote) =>
      JSON.stringify({ at: Date.now(), pid: process.pid, seq: 1, ...note }).length + 1;
    const room = 4_096 - bytesWithout({ kind: 'k', padding: '' });
    expect(() => ledger.append({ kind: 'k', padding: 'x'.repeat(room + 1) })).toThrow(
      'at most 4096 bytes, got 4097',
    );
    expect(ledger.append({ kind: 'k', padding: 'x'.repeat(room) }).seq).toBe(1);
    expect(readLedger(path)).toHaveLength(1);
  });

  it('refuses to let a note pose as the ledger', () => {
    using ledger = openLedger(newPath());
    expect(() => ledger.append({ kind: 'k', pid: 1 } as unknown as LedgerNote)).toThrow('pid');
  });

  it('says so when it has been closed', () => {
    const ledger = openLedger(newPath());
    ledger.close();
    ledger.close();
    expect(() => ledger.append({ kind: 'late' })).toThrow('has been closed');
  });

  it('leaves out a torn last line', () => {
    const path = newPath();
    using ledger = openLedger(path);
    ledger.append({ kind: 'whole' });
    appendFileSync(path, '{"at":1,"pid":2,"se');
    expect(readLedger(path).map((entry) => entry.kind)).toEqual(['whole']);
  });

  it('refuses a ledger that is broken elsewhere', () => {
    const path = newPath();
    writeFileSync(path, '{"kind":"a"}\n{"kind":"b\n{"kind":"c"}\n');
    expect(() => readLedger(path)).toThrow('broken at line 2: {"kind":"b');
  });

  it('does not take a missing ledger for an empty one', () => {
    expect(() => readLedger(newPath())).toThrow('ENOENT');
  });
});
