import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GroupView } from '@millrace/bulk-action';
import type { LedgerEntry } from '@millrace/testkit';
import { afterAll, describe, expect, it } from 'vitest';
import {
  checkAddedFields,
  checkBothWorked,
  checkRollingKeys,
  checkRollingLoss,
  checkRollingOnce,
} from '../src/rolling/check-rolling.js';
import { addedNumber, ENGINE, type RollingEvidence, type StoredRow } from '../src/rolling/evidence.js';
import { folderOf, makeNextRelease, OLD_RELEASE } from '../src/rolling/release.js';

let seq = 0;
const done = (n: number, release: string): LedgerEntry => ({
  at: seq,
  pid: 1,
  seq: seq++,
  kind: 'done',
  job: `group-0#job-${n}`,
  release,
});
const row = (task: string, release: 'old' | 'new'): StoredRow => ({
  batch: 'day-0',
  task,
  status: 'SUCCEEDED',
  releases: [release],
  nextCount: release === 'new' ? 1 : 0,
  nextNote: 'added',
});

/** A group and a batch of which each release has done a part. */
const sound = (): RollingEvidence => ({
  handedIn: [{ group: 'group-0', jobs: 2, batch: 'day-0' }],
  groups: [{ id: 'group-0', status: 'COMPLETED', counts: { success: 2, registered: 2 } } as GroupView],
  rows: [row('book', 'old'), row('left', 'new'), row('right', 'old'), row('close', 'new')],
  batches: new Map([['day-0', 'DONE']]),
  added: [
    { record: ENGINE, counted: 9, kept: 9 },
    { record: '/group-0', counted: 3, kept: 3 },
  ],
  keys: [
    { key: 'chaos:{0}:next', type: 'hash' },
    { key: 'chaos:{0}:meta', type: 'hash' },
  ],
  ledger: [done(0, 'old'), done(1, 'new')],
});
const but = (change: Partial<RollingEvidence>): RollingEvidence => ({ ...sound(), ...change });

describe('the checkers of rolling-layout', () => {
  it.each([checkRollingLoss, checkRollingOnce, checkAddedFields, checkRollingKeys, checkBothWorked])(
    '%s holds for a sound run',
    (check) => {
      expect(check(sound())).toMatchObject({ held: true });
    },
  );

  it('see a group or batch that has not ended, and a job that was never run', () => {
    const open = { ...sound().groups[0], status: 'RUNNING' } as GroupView;
    expect(checkRollingLoss(but({ groups: [open] })).held).toBe(false);
    expect(checkRollingLoss(but({ batches: new Map() })).held).toBe(false);
    expect(checkRollingLoss(but({ ledger: [done(0, 'old')] })).held).toBe(false);
    expect(checkRollingLoss(but({ handedIn: [] })).held).toBe(false);
  });

  it('see a job that was counted twice, a row that is there twice or not at all', () => {
    const counts = { success: 3, registered: 2 };
    const twice = { ...sound().groups[0], counts } as GroupView;
    expect(checkRollingOnce(but({ groups: [twice] })).held).toBe(false);
    const [first, ...rest] = sound().rows as [StoredRow, ...StoredRow[]];
    for (const releases of [[], ['old', 'new']])
      expect(checkRollingOnce(but({ rows: [{ ...first, releases }, ...rest] })).held).toBe(false);
    expect(checkRollingOnce(but({ rows: rest })).held).toBe(false);
  });

  it('see that something was lost of what the new release had added', () => {
    for (const kept of [2, undefined])
      expect(checkAddedFields(but({ added: [{ record: ENGINE, counted: 3, kept }] })).held).toBe(false);
    const [first, ...rest] = [row('left', 'new'), row('book', 'old')] as const;
    expect(checkAddedFields(but({ rows: [{ ...first, nextCount: 0 }, ...rest] })).held).toBe(false);
    expect(checkAddedFields(but({ rows: [{ ...first, nextNote: null }, ...rest] })).held).toBe(false);
    expect(checkAddedFields(but({ added: [] })).held).toBe(false);
  });

  it('see a group whose added field the old release did not carry on', () => {
    const added = [...sound().added, { record: '/group-1', counted: 4, kept: undefined }];
    expect(checkAddedFields(but({ added })).held).toBe(false);
  });

  it('see a key that nobody has declared, and that the new release has added none', () => {
    const [added, known] = sound().keys as RollingEvidence['keys'];
    const strange = { key: 'chaos:{0}:strange', type: 'hash' };
    expect(checkRollingKeys(but({ keys: [...sound().keys, strange] })).held).toBe(false);
    expect(checkRollingKeys(but({ keys: [known as typeof strange] })).held).toBe(false);
    expect(checkRollingKeys(but({ keys: [{ ...(added as typeof strange), type: 'set' }] })).held).toBe(false);
  });

  it('see that the releases did not work on the same data', () => {
    expect(checkBothWorked(but({ ledger: [done(0, 'old'), done(1, 'old')] })).held).toBe(false);
    expect(checkBothWorked(but({ rows: [row('book', 'new')] })).held).toBe(false);
  });
});

describe('a number in a packed record', () => {
  it.each([
    [7, [7]],
    [200, [0xcc, 200]],
    [1000, [0xcd, 3, 0xe8]],
    [70_000, [0xce, 0, 1, 0x11, 0x70]],
    [undefined, [0xa1, 65]],
    [undefined, []],
  ])('%s', (number, bytes) => {
    const value = Buffer.concat([Buffer.from([1, 0x81, 0xa5]), Buffer.from('added'), Buffer.from(bytes)]);
    expect(addedNumber(value, 'added')).toBe(number);
    expect(addedNumber(value, 'other')).toBeUndefined();
  });
});

describe('the next release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-next-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is this one with another layout of bulk-action and a further migration of outbox, found where it is', () => {
    const next = makeNextRelease(folder);
    const lua = (release: typeof next, file: string) =>
      readFileSync(join(folderOf(release, '@millrace/bulk-action'), 'lua', file), 'utf8');
    expect(folderOf(next, '@millrace/outbox').startsWith(folder)).toBe(true);
    expect(lua(next, 'saving.lua')).toContain('nextSaves');
    expect(lua(OLD_RELEASE, 'saving.lua')).not.toContain('nextSaves');
    expect(lua(next, 'settle.lua')).toBe(lua(OLD_RELEASE, 'settle.lua'));
    const sql = (release: typeof next) =>
      readdirSync(join(folderOf(release, '@millrace/outbox'), 'sql')).filter((name) => /^\d/.test(name));
    expect(sql(next).length).toBe(sql(OLD_RELEASE).length + 1);
    expect(sql(next).at(-1)).toMatch(/^\d{4}-next\.sql$/);
  });
});
