import type { BulkStore, Settlement } from '@millrace/bulk-action';
import type { Ledger } from '@millrace/testkit/ledger';
import { nameOf } from './witness.js';

/** Earlier settlements that are sent once more with every call, at most. */
const KEPT_MAX = 20;

/** What a settlement is made of that was sent before: as if its handler had come to a good end after all. */
const forged = (settlement: Settlement): Settlement => ({ ...settlement, outcome: { kind: 'success' } });

/** An answer in words. */
export const answered = (
  answer: { readonly status: string; readonly jobStatus?: string | undefined } | undefined,
): string => [answer?.status, answer?.jobStatus].filter(Boolean).join(' ');

/**
 * A store that hears everything twice: each settlement again, at the same time, and behind it what an earlier try of its
 * job (and of others) had said, turned into a success. The ledger is told the answers; the engine gets those of the first.
 */
export function twiceToldStore(store: BulkStore, ledger: Ledger): BulkStore {
  const { leases } = store;
  /** The last settlement of each job that did not end it. */
  const earlier = new Map<string, Settlement>();
  const settle = async (settlements: readonly Settlement[]) => {
    const names = new Set(settlements.map(nameOf));
    const stale = [...earlier].filter(([name]) => names.has(name)).map(([, one]) => one);
    const others = [...earlier.values()].filter((one) => !names.has(nameOf(one))).slice(-KEPT_MAX);
    const crossed = [...stale, ...others].map(forged);
    const [answers, again] = await Promise.all([
      leases.settle([...settlements, ...crossed]),
      leases.settle(settlements),
    ]);
    settlements.forEach((one, index) => {
      const first = answered(answers[index]);
      const { token } = one;
      ledger.append({ kind: 'told-again', job: nameOf(one), token, first, again: answered(again[index]) });
      const { status, jobStatus } = answers[index] ?? {};
      if (status === 'stale' || jobStatus === 'PENDING') earlier.set(nameOf(one), one);
      else earlier.delete(nameOf(one));
    });
    crossed.forEach((one, index) => {
      const answer = answered(answers[settlements.length + index]);
      // Of a job in this call the newer settlement stood before the older one.
      const isOverruled = names.has(nameOf(one));
      ledger.append({ kind: 'crossed', job: nameOf(one), token: one.token, answer, isOverruled });
    });
    return answers.slice(0, settlements.length);
  };
  const { groups, views, gate, upkeep, watch, aggregations, deadLetters, instances, once, wakeUps } = store;
  return {
    ...{ groups, views, gate, upkeep, watch, aggregations, deadLetters, instances, once, wakeUps },
    leases: {
      settle,
      reserve: (request) => leases.reserve(request),
      renew: (refs) => leases.renew(refs),
      giveBack: (refs) => leases.giveBack(refs),
      recover: (randoms) => leases.recover(randoms),
      giveBackAll: (instanceId, max) => leases.giveBackAll(instanceId, max),
      ...(leases.partOf && { partOf: (key) => leases.partOf?.(key) ?? 0 }),
    },
    start: () => store.start(),
    stop: () => store.stop(),
  };
}
