import { expect } from 'vitest';
import type { GroupKey, GroupView, JobView } from '../../src/model.js';
import { hasEnded, JobPlace, JobStatus } from '../../src/states.js';
import { listed, type StoreHarness, sweepAll } from './tools.js';

const PAGE = 1000;

const STATUS_OF_PLACE: Readonly<Record<JobPlace, readonly JobStatus[]>> = {
  LANE: ['PENDING', 'CANCELLED'],
  READY: ['PENDING', 'CANCELLED'],
  NON_READY: ['PENDING', 'CANCELLED'],
  IN_FLIGHT: ['PROCESSING', 'CANCELLED'],
  DONE: ['COMPLETED', 'FAILED', 'CANCELLED'],
  DEAD: ['FAILED'],
};

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

const keyOf = ({ id, tenant }: GroupView): GroupKey => (tenant === '' ? `/${id}` : id);

/**
 * Every job is in exactly one place, and every count says so (invariant I8, as far as the views can show it).
 * Ended rounds are swept first: until then their entries may lie about.
 */
export async function expectConservation(harness: StoreHarness): Promise<void> {
  await sweepAll(harness);
  const groups = await listed((cursor) => harness.store.views.groups({}, PAGE, cursor));
  expect(new Set(groups.map(({ id }) => id)).size, 'groups listed once').toBe(groups.length);
  for (const group of groups) await expectGroup(harness, group);
  await expectQueues(harness, groups);
  await expectTenants(harness, groups);
}

async function expectGroup({ store }: StoreHarness, group: GroupView): Promise<void> {
  const { registered, success, failed, cancelled, pending, inFlight, ready, nonReady } = group.counts;
  const what = `group ${group.id} ${group.status}: ${JSON.stringify(group.counts)}`;
  expect(success + failed + cancelled + pending + inFlight, what).toBe(registered);
  expect(Math.min(...Object.values(group.counts)), what).toBeGreaterThanOrEqual(0);
  expect(ready + nonReady, what).toBeLessThanOrEqual(pending);
  if (hasEnded(group.status)) expect(pending + inFlight, what).toBe(0);

  const key = keyOf(group);
  const all = await listed((cursor) => store.views.jobs(key, {}, PAGE, cursor));
  const found: Record<JobStatus, number> = {
    PENDING: 0,
    PROCESSING: 0,
    COMPLETED: 0,
    FAILED: 0,
    CANCELLED: 0,
  };
  for (const job of all) {
    found[job.status] += 1;
    expect(STATUS_OF_PLACE[job.place], `${what} job ${job.id} in ${job.place}`).toContain(job.status);
  }
  const counted = {
    PENDING: pending,
    PROCESSING: inFlight,
    COMPLETED: success,
    FAILED: failed,
    CANCELLED: cancelled,
  };
  // Records of an ended round may be past their retention; those of work still to do never are.
  const complete = !hasEnded(group.status) && group.round === 1;
  if (complete || all.length === registered) expect(found, what).toEqual(counted);
  expect(found.PENDING, what).toBe(pending);
  expect(found.PROCESSING, what).toBe(inFlight);
  for (const state of Object.values(JobStatus)) {
    const some = await listed((cursor) => store.views.jobs(key, { state }, PAGE, cursor));
    expect(some.map(({ id }) => id).toSorted(), `${what} ${state}`).toEqual(
      all
        .filter(({ status }) => status === state)
        .map(({ id }) => id)
        .toSorted(),
    );
  }
  const waiting = all.filter(({ status }) => status === 'PENDING');
  expect(inPlace(waiting, 'READY'), what).toBe(ready);
  expect(inPlace(waiting, 'NON_READY'), what).toBe(nonReady);
}

const inPlace = (jobs: readonly JobView[], place: JobPlace): number =>
  jobs.filter((job) => job.place === place).length;

async function expectQueues({ store }: StoreHarness, groups: readonly GroupView[]): Promise<void> {
  const queues = await store.views.queues();
  const total = (pick: (counts: GroupView['counts']) => number) =>
    sum(groups.map(({ counts }) => pick(counts)));
  expect({ lane: queues.lane, ready: queues.ready, nonReady: queues.nonReady }).toEqual({
    lane: total(({ pending, ready, nonReady }) => pending - ready - nonReady),
    ready: total(({ ready }) => ready),
    nonReady: total(({ nonReady }) => nonReady),
  });
  expect(sum(Object.values(queues.nonReadyByReason)), 'non-ready by reason').toBe(queues.nonReady);
  // A lease of a cancelled round stands until its try reports or it expires.
  const inFlight = total((counts) => counts.inFlight);
  if (groups.some(wasCutOff)) expect(queues.inFlight).toBeGreaterThanOrEqual(inFlight);
  else expect(queues.inFlight).toBe(inFlight);

  const letters = await listed((cursor) => store.deadLetters.list({}, PAGE, cursor));
  expect(letters.length, 'dead letters').toBe(queues.deadLetters);
  for (const { job } of letters) expect(job).toMatchObject({ status: 'FAILED', place: 'DEAD' });
}

const wasCutOff = ({ status, counts }: GroupView): boolean =>
  status === 'CANCELLED' || status === 'FAILED' || counts.cancelled > 0;

async function expectTenants({ store }: StoreHarness, groups: readonly GroupView[]): Promise<void> {
  for (const tenantId of new Set(groups.map((group) => group.tenantId))) {
    const own = groups.filter((group) => group.tenantId === tenantId);
    const open = own.filter(({ status }) => !hasEnded(status));
    const tenant = await store.views.tenant(tenantId);
    // A tenant of whom nothing is left to do may be forgotten.
    if (!tenant && open.length === 0) continue;
    expect(tenant, `tenant ${tenantId}`).toMatchObject({
      id: tenantId,
      groups: open.length,
      pending: sum(own.map(({ counts }) => counts.pending)),
    });
    if (!own.some(wasCutOff))
      expect(tenant?.inFlight, `tenant ${tenantId} in flight`).toBe(
        sum(own.map(({ counts }) => counts.inFlight)),
      );
  }
}
