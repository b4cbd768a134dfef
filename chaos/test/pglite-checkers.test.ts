import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkKills, checkRefused, checkTakenOver, checkWritten } from '../src/pglite/check-lives.js';
import { unfinished } from '../src/pglite/strikes.js';
import { ROWS_PER_WRITE } from '../src/pglite/tables.js';

const entry = (kind: string, at: number, fields: object = {}, pid = 7) => ({
  kind,
  at,
  pid,
  seq: 1,
  ...fields,
});
const note = (name: string, rest: object = {}) => ({ note: name, rows: ROWS_PER_WRITE, broken: 0, ...rest });
const refusal = (fields: object = {}) =>
  entry(
    'not-opened',
    20,
    { owner: 7, code: 'DATABASE_IN_USE', message: 'process 7 on here has it', ...fields },
    9,
  );
const writes = [
  entry('writing', 10, { note: '7-1' }),
  entry('written', 11, { note: '7-1' }),
  entry('writing', 30, { note: '7-2' }),
  entry('written', 31, { note: '7-2' }),
  entry('writing', 40, { note: '7-3' }),
];

describe('the checkers of an embedded database that is killed', () => {
  it('see a write that is gone, a part of one, a broken one, and one that nobody wrote', () => {
    const held = (...stored: ReturnType<typeof note>[]) => checkWritten(writes, stored).held;
    const [one, two, cut] = [note('7-1'), note('7-2'), note('7-3')];
    expect(held(one, two)).toBe(true);
    expect(held(one, two, cut)).toBe(true);
    expect(held(one)).toBe(false);
    expect(held(one, two, { ...cut, rows: 3 })).toBe(false);
    expect(held(one, { ...two, broken: 1 })).toBe(false);
    expect(held(one, two, note('8-1'))).toBe(false);
    expect(checkWritten([], []).held).toBe(false);
  });

  it('see a second one that was let in, was refused otherwise or without a name, or that stopped the first', () => {
    const held = (...more: ReturnType<typeof entry>[]) => checkRefused([...writes, ...more]).held;
    expect(held(refusal())).toBe(true);
    expect(held()).toBe(false);
    expect(held(refusal(), entry('opened', 21, { owner: 7 }, 9))).toBe(false);
    expect(held(refusal({ code: 'DATABASE_DIRECTORY_INVALID' }))).toBe(false);
    expect(held(refusal({ message: 'process ? on here has it' }))).toBe(false);
    expect(held({ ...refusal(), at: 35 })).toBe(false);
  });

  it('see a directory that nobody took over, or only late', () => {
    const killed = entry('killed', 50, { owner: 7 }, 1);
    const next = entry('took-over', 60, { owner: 8, tookMs: 900 }, 1);
    expect(checkTakenOver([killed, next], 1000).held).toBe(true);
    expect(checkTakenOver([killed, next], 800).held).toBe(false);
    expect(checkTakenOver([next, { ...killed, at: 70 }], 1000).held).toBe(false);
    expect(checkTakenOver([next], 1000).held).toBe(false);
  });

  it('miss a kill in the middle of a write, one in the middle of a task, and one in the making', () => {
    const killed = [entry('began', 45, { run: 'r' }), entry('killed', 50, { owner: 7 }, 1)];
    expect(checkKills([...writes, ...killed], true).held).toBe(true);
    expect(checkKills([...writes, ...killed], false).held).toBe(false);
    expect(checkKills([...writes.slice(0, -1), ...killed], true).held).toBe(false);
    expect(checkKills([...writes, ...killed.slice(1)], true).held).toBe(false);
    expect(checkKills([...writes, ...killed, entry('ended', 46, { run: 'r' })], true).held).toBe(false);
    expect(checkKills(writes, true).held).toBe(false);
  });

  it('find what is left of a database that was being made', () => {
    const parent = mkdtempSync(join(tmpdir(), 'millrace-unfinished-'));
    try {
      for (const name of ['data', 'data.lock', 'data.creating-1', 'other.creating-2'])
        mkdirSync(join(parent, name));
      expect(unfinished(join(parent, 'data'))).toEqual(['data.creating-1']);
    } finally {
      rmSync(parent, { recursive: true });
    }
  });
});
