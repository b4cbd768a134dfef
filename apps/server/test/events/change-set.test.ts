import { describe, expect, it } from 'vitest';
import {
  NOTICE_BYTES_MAX,
  NOTICE_CHANGES_MAX,
  readNotice,
  writeNotice,
} from '../../src/events/change-notice.js';
import { type Change, ChangeSet } from '../../src/events/change-set.js';

const batch = (id: string, tenant = ''): Change => ({ kind: 'batches', tenant, id });
const group = (id: string, status: string, tenant = ''): Change => ({ kind: 'groups', tenant, id, status });

describe('what has changed', () => {
  it('is there once, as it was last', () => {
    const set = new ChangeSet(10);
    for (const change of [group('g', 'RUNNING'), batch('1'), group('g', 'COMPLETED'), batch('1')])
      set.add(change);
    expect(set.of('groups')).toEqual([group('g', 'COMPLETED')]);
    expect(set.of('batches')).toEqual([batch('1')]);
    expect(set.more).toBe(false);
  });

  it('has a limit: beyond it there is only more', () => {
    const set = new ChangeSet(2);
    for (const id of ['1', '2', '3']) set.add(batch(id));
    set.add(batch('2'));
    expect(set.of('batches')).toHaveLength(2);
    expect(set.more).toBe(true);
    set.clear();
    expect(set.isEmpty).toBe(true);
  });

  it('is taken over for one tenant, or for all', () => {
    const all = new ChangeSet(10);
    for (const change of [batch('1', 'a'), batch('2', 'b'), group('a/g', 'RUNNING', 'a')]) all.add(change);
    all.addDeadLetter('b');
    const ofA = new ChangeSet(10);
    ofA.addAll(all, 'a');
    expect(ofA.of('batches')).toEqual([batch('1', 'a')]);
    expect(ofA.of('groups')).toHaveLength(1);
    expect(ofA.hasDeadLetters).toBe(false);
    const ofAll = new ChangeSet(10);
    ofAll.addAll(all, undefined);
    expect(ofAll.of('batches')).toHaveLength(2);
    expect(ofAll.hasDeadLetters).toBe(true);
  });
});

describe('what processes tell each other', () => {
  const noticeOf = (changes: readonly Change[], max = 1_000) => {
    const set = new ChangeSet(max);
    for (const change of changes) set.add(change);
    return writeNotice('me', set);
  };

  it('arrives as it was sent', () => {
    const changes: Change[] = [
      batch('1', 'a'),
      batch('2', '__proto__'),
      { kind: 'operations', tenant: 'a', id: 'op' },
    ];
    const { from, more, changes: told } = readNotice(noticeOf(changes)) ?? {};
    expect({ from, more }).toEqual({ from: 'me', more: false });
    expect(told).toHaveLength(3);
    expect(told).toEqual(expect.arrayContaining(changes));
  });

  it('fits into a NOTIFY, whatever ids and tenants there are', () => {
    const many = Array.from({ length: 500 }, (_, n) => batch(`${n}`));
    const long = Array.from({ length: 100 }, (_, n) => batch(`${n}`, 'é'.repeat(200) + n));
    for (const changes of [many, long]) {
      const text = noticeOf(changes);
      const notice = readNotice(text);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(NOTICE_BYTES_MAX);
      expect(notice?.changes.length).toBeGreaterThan(0);
      expect(notice?.changes.length).toBeLessThanOrEqual(NOTICE_CHANGES_MAX);
      expect(notice?.more).toBe(true);
    }
    expect(readNotice(noticeOf([batch('x'.repeat(9_000))]))).toMatchObject({ changes: [], more: true });
  });

  it('is passed over where it is none', () => {
    for (const text of ['', 'scale', '{}', '[1]', '["me",true,[["a",[1],[]]]]', 'null'])
      expect(readNotice(text)).toBeUndefined();
  });
});
