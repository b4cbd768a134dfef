import { PATHS, ROUTES } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { isStaleAfter } from '../../src/data/freshness.js';

const NOTHING = { groups: [], batches: [], operations: [], deadLetters: false, more: false, snapshot: null };
const ABOUT = { batchId: '7', opId: 'x' };
const stale = (hint: Partial<Parameters<typeof isStaleAfter>[1]>) =>
  Object.keys(PATHS).filter((id) => isStaleAfter(id, { ...NOTHING, ...hint }, ABOUT));

describe('what may be old after a change', () => {
  it('is what the change is about', () => {
    expect(stale({ batches: ['7'] })).toEqual(['listBatches', 'getBatch', 'listBatchTasks']);
    expect(stale({ batches: ['8'] })).toEqual(['listBatches']);
    expect(stale({ operations: ['x'] })).toEqual(['listOperations', 'getOperationStatus']);
    expect(stale({ operations: ['y'] })).toEqual(['listOperations']);
    expect(stale({ groups: [{ id: 'g', status: 'RUNNING' }] })).toContain('getFairness');
    expect(stale({ deadLetters: true })).toEqual(['listDeadLetters']);
    expect(stale({})).toEqual([]);
  });

  it('is all of it when more has changed than is told, and never what changes something', () => {
    const all = stale({ more: true, snapshot: {} as never });
    expect(all).toEqual(
      expect.arrayContaining(['listGroups', 'listBatches', 'listOperations', 'listDeadLetters']),
    );
    for (const id of all) expect(ROUTES[id as keyof typeof ROUTES].method, id).toBe('GET');
    expect(isStaleAfter('no such route', { ...NOTHING, more: true })).toBe(false);
  });
});
