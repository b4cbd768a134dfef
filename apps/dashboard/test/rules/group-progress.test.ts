import type { ProgressBody } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { endedRounds, progressParts, shownStatus } from '../../src/rules/group-progress.js';

const PROGRESS: ProgressBody = {
  total: 100,
  registered: 100,
  done: 43,
  success: 40,
  failed: 3,
  cancelled: 0,
  pending: 55,
  inFlight: 2,
  nonReady: 5,
  progressPercent: 43,
  status: 'RUNNING',
  round: 1,
  etaMs: null,
  congestion: { level: 'NONE', nonReadyCount: 5, lastBackoffMs: 0 },
};

describe('the progress of a group', () => {
  it('counts every job in one part', () => {
    const parts = progressParts(PROGRESS);
    expect(parts.map(({ label, value }) => `${value} ${label}`)).toEqual([
      '40 done',
      '3 failed',
      '2 in flight',
      '5 waiting for a time',
      '50 pending',
    ]);
    expect(parts.reduce((sum, { value }) => sum + value, 0)).toBe(PROGRESS.registered);
    const cancelled = progressParts({ ...PROGRESS, cancelled: 57, pending: 0, inFlight: 0, nonReady: 0 });
    expect(cancelled).toContainEqual({ label: 'cancelled', value: 57, tone: 'wait' });
  });

  it('says paused of what somebody has paused, and can be resumed', () => {
    expect(shownStatus({ status: 'RUNNING', paused: true })).toBe('PAUSED');
    expect(shownStatus({ status: 'CANCELLED', paused: true })).toBe('CANCELLED');
    expect(shownStatus({ status: 'RUNNING', paused: false })).toBe('RUNNING');
  });

  it('has results of rounds that have ended, the last first', () => {
    expect(endedRounds({ status: 'RUNNING', round: 1 })).toEqual([]);
    expect(endedRounds({ status: 'RUNNING', round: 3 })).toEqual([2, 1]);
    expect(endedRounds({ status: 'FAILED', round: 2 })).toEqual([2, 1]);
    expect(endedRounds({ status: 'COMPLETED', round: 900 })).toHaveLength(50);
  });
});
