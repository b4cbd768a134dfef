import { wait } from '@millrace/async-utils';
import { toWorkError } from '@millrace/foundation';
import type { BulkClient } from './client.js';
import { type PlannedGroup, type PlannedJob, planJob } from './plan.js';
import { PROCESSOR_TYPE } from './settings.js';
import type { World } from './world.js';

/** What a caller is told while the store can take nothing. */
export const REFUSAL = 'BACKEND_UNAVAILABLE';

/** How a call ended, and what it handed in. */
export interface Attempt {
  readonly code: string;
  readonly group: PlannedGroup;
}

/** Hands in jobs of a group that does not exist yet: refused, it must not exist afterwards either. */
export async function submitNewGroup(client: BulkClient, id: string): Promise<Attempt> {
  const jobs = [planJob('j0', { does: 'works', ms: 1 }), planJob('j1', { does: 'works', ms: 1 })];
  const code = await codeOf(() => client.service.addJobs(id, jobs.map(inputOf)));
  return { code, group: { input: { id }, jobs } };
}

/**
 * Hands in one batch after the other until one is refused; those before are in the ledger as acknowledged.
 * @returns how it was refused, and the group with the jobs that were acknowledged.
 */
export async function submitUntilRefused(
  { client, ledger }: Pick<World, 'client' | 'ledger'>,
  id: string,
  batch: { readonly size: number; readonly padding?: string },
): Promise<Attempt> {
  const jobs: PlannedJob[] = [];
  const { size, ...script } = batch;
  for (;;) {
    const next = Array.from({ length: size }, (_, index) =>
      planJob(`j${jobs.length + index}`, { does: 'works', ms: 1, ...script }),
    );
    const code = await codeOf(() => client.service.addJobs(id, next.map(inputOf)));
    if (code !== 'accepted') return { code, group: { input: { id }, jobs } };
    jobs.push(...next);
    for (const job of next) ledger.append({ kind: 'acknowledged', group: id, id: job.id });
    // The workers shall not stand behind the caller.
    await wait(1);
  }
}

/**
 * How many jobs a group has; one that does not exist has none.
 * @throws what the store threw when it could not say.
 */
export const registeredIn = (client: BulkClient, group: string): Promise<number> =>
  client.service.getGroup(group).then(
    ({ counts }) => counts.registered,
    (error: unknown) => {
      if (toWorkError(error).code === 'GROUP_NOT_FOUND') return 0;
      throw error;
    },
  );

const inputOf = ({ id, script }: PlannedJob) => ({ id, processorType: PROCESSOR_TYPE, payload: script });

const codeOf = (call: () => Promise<unknown>): Promise<string> =>
  call().then(
    () => 'accepted',
    (error: unknown) => toWorkError(error).code,
  );
