import { describe, expect, it } from 'vitest';
import { readRedirection, readSlotOwners } from '../src/cluster-slots.js';

describe('readSlotOwners', () => {
  const toAddress = (host: string, port: number) => (host === '?' ? undefined : `${host || 'asked'}:${port}`);

  it('names the master of every slot', () => {
    const reply = [
      [0, 1, ['a', 1], ['replica', 9]],
      [3, 16_383, ['::1', 2]],
    ];
    const { bySlot, addresses } = readSlotOwners(reply, toAddress);
    expect([...addresses]).toEqual(['a:1', '::1:2']);
    const masters = [0, 1, 2, 3, 16_383].map((slot) => bySlot[slot]);
    expect(masters).toEqual(['a:1', 'a:1', undefined, '::1:2', '::1:2']);
    expect(bySlot).toHaveLength(16_384);
  });

  it('passes a node without a name to the caller and leaves out an unknown one', () => {
    const reply = [
      [0, 0, [null, 1]],
      [1, 1, ['', 2]],
      [2, 2, ['?', 3]],
    ];
    expect([...readSlotOwners(reply, toAddress).addresses]).toEqual(['asked:1', 'asked:2']);
    expect(readSlotOwners([], toAddress).addresses.size).toBe(0);
  });
});

describe('readRedirection', () => {
  it.each([
    ['MOVED 3999 127.0.0.1:6381', { kind: 'moved', slot: 3_999, host: '127.0.0.1', port: 6_381 }],
    ['MOVED 0 :6381', { kind: 'moved', slot: 0, host: '', port: 6_381 }],
    ['ASK 16383 ::1:6381', { kind: 'ask', slot: 16_383, host: '::1', port: 6_381 }],
    ['TRYAGAIN Multiple keys request during rehashing of slot', { kind: 'later' }],
    ['CLUSTERDOWN Hash slot not served', { kind: 'later' }],
    ["READONLY You can't write against a read only replica. script: 0", { kind: 'later' }],
    ['MASTERDOWN Link with MASTER is down', { kind: 'later' }],
  ])('%s', (message, expected) => {
    expect(readRedirection(message)).toEqual(expected);
  });

  it.each([
    'MOVED 16384 127.0.0.1:6381',
    'MOVED __proto__ 127.0.0.1:6381',
    'CROSSSLOT Keys in request',
    'ERR no',
    '',
  ])('ignores %s', (message) => {
    expect(readRedirection(message)).toBeUndefined();
  });
});
