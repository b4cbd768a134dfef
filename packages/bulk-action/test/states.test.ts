import { describe, expect, it } from 'vitest';
import {
  BackpressureDestination,
  GROUP_TRANSITIONS,
  GroupStatus,
  hasEnded,
  JobPlace,
  JobStatus,
  NonReadyReason,
  PriorityLevel,
  WorkerState,
} from '../src/states.js';

const names = { BackpressureDestination, GroupStatus, JobPlace, JobStatus, NonReadyReason, WorkerState };

describe('states', () => {
  it.each(Object.entries(names))('%s: every name is its own value', (_, constant) => {
    for (const [name, value] of Object.entries(constant)) expect(value).toBe(name);
  });

  it('bulk-action BA-1: the levels are high, normal and low', () => {
    expect(Object.values(PriorityLevel)).toEqual(['high', 'normal', 'low']);
  });

  it('bulk-action BA-13: a group goes forward only, and from an end only into its next round', () => {
    const order = ['CREATED', 'DISPATCHED', 'RUNNING', 'AGGREGATING'] as const;
    for (const status of Object.values(GroupStatus)) {
      const next = GROUP_TRANSITIONS[status];
      if (hasEnded(status)) {
        expect(next).toEqual(['RUNNING']);
        continue;
      }
      expect(next).toEqual(expect.arrayContaining(['COMPLETED', 'FAILED', 'CANCELLED']));
      const own = order.indexOf(status as (typeof order)[number]);
      expect(own).toBeGreaterThanOrEqual(0);
      // Before the results are added up a failed job may be pending again: the one way back.
      const forward = status === 'AGGREGATING' ? next.filter((later) => later !== 'RUNNING') : next;
      for (const later of forward)
        if (!hasEnded(later)) expect(order.indexOf(later as never)).toBeGreaterThan(own);
    }
  });

  it('bulk-action BA-13: exactly completed, failed and cancelled are ends', () => {
    expect(Object.values(GroupStatus).filter(hasEnded)).toEqual(['COMPLETED', 'FAILED', 'CANCELLED']);
  });

  it('bulk-action BA-2: the reasons outside the fair queue', () => {
    expect(Object.keys(NonReadyReason)).toEqual([
      'RATE_LIMITED',
      'API_THROTTLED',
      'TRANSIENT_ERROR',
      'SCHEDULED',
      'NO_PROCESSOR',
      'ORPHANED',
    ]);
  });
});
