import type { BulkStore, Leases } from '@millrace/bulk-action';
import type { Ledger } from '@millrace/testkit/ledger';
import { jobName } from './plan.js';

/** What the ledger calls the job of a lease or a settlement. */
export const nameOf = ({ key, jobId }: { readonly key: string; readonly jobId: string }): string =>
  jobName(key.replace(/^\//, ''), jobId);

/**
 * A store whose ledger is told which leases it gave, how they ended, whose results were added up, and what was repaired.
 */
export function witnessedStore(store: BulkStore, ledger: Ledger): BulkStore {
  const { groups, views, gate, upkeep, deadLetters, instances, once, wakeUps } = store;
  const { watch, aggregations } = store;
  return {
    ...{ groups, views, gate, upkeep, deadLetters, instances, once, wakeUps },
    leases: witnessedLeases(store.leases, ledger),
    watch: {
      look: (max) => watch.look(max),
      async reconcile(max, cursor) {
        const answer = await watch.reconcile(max, cursor);
        if (answer.repaired > 0) ledger.append({ kind: 'repaired', groups: answer.repaired });
        return answer;
      },
    },
    aggregations: {
      claim: (token, ttlMs, types) => aggregations.claim(token, ttlMs, types),
      claimGroup: (key, token, ttlMs) => aggregations.claimGroup(key, token, ttlMs),
      renew: (key, round, token, ttlMs) => aggregations.renew(key, round, token, ttlMs),
      page: (key, limit, cursor) => aggregations.page(key, limit, cursor),
      find: (key, jobId, max, cursor) => aggregations.find(key, jobId, max, cursor),
      async finish(key, round, token, data) {
        const answer = await aggregations.finish(key, round, token, data);
        ledger.append({ kind: 'aggregated', group: key.replace(/^\//, ''), round, token, answer });
        return answer;
      },
      fail: (key, round, token, message) => aggregations.fail(key, round, token, message),
    },
    start: () => store.start(),
    stop: () => store.stop(),
  };
}

const witnessedLeases = (leases: Leases, ledger: Ledger): Leases => ({
  async reserve(request) {
    const answer = await leases.reserve(request);
    for (const job of answer.jobs) {
      ledger.append({ kind: 'leased', job: nameOf(job), attempt: job.attempt, token: job.token });
    }
    for (const job of answer.missing) ledger.append({ kind: 'missing', job: nameOf(job) });
    return answer;
  },
  async settle(settlements) {
    const answers = await leases.settle(settlements);
    settlements.forEach((one, index) => {
      const { status, jobStatus } = answers[index] ?? {};
      ledger.append({ kind: 'settled', job: nameOf(one), token: one.token, status, jobStatus });
    });
    return answers;
  },
  async giveBack(refs) {
    const answers = await leases.giveBack(refs);
    refs.forEach((ref, index) => {
      ledger.append({ kind: 'given-back', job: nameOf(ref), token: ref.token, to: answers[index] });
    });
    return answers;
  },
  renew: (refs) => leases.renew(refs),
  recover: (randoms) => leases.recover(randoms),
  giveBackAll: (instanceId, max) => leases.giveBackAll(instanceId, max),
  ...(leases.partOf && { partOf: (key) => leases.partOf?.(key) ?? 0 }),
});
