import type { OperationStore, Repairs, Runs } from '@millrace/orchestrator';
import type { Step } from './steps.js';

/** Told of each step before it is made, or after. */
export type AtStep = (step: Step, opId?: string) => void;

/** A store that says where it is. What it stores is the store's that it stands before. */
export function steppedStore(store: OperationStore, at: AtStep): OperationStore {
  const { views, notices } = store;
  return {
    runs: steppedRuns(store.runs, at),
    repairs: steppedRepairs(store.repairs, at),
    views,
    notices,
    start: () => store.start(),
    stop: () => store.stop(),
  };
}

const steppedRuns = (runs: Runs, at: AtStep): Runs => ({
  async accept(operation, timeoutMs) {
    const { opId } = operation.envelope;
    at('before accept', opId);
    const answer = await runs.accept(operation, timeoutMs);
    if (answer.kind === 'accepted') at('after accept', opId);
    return answer;
  },
  async begin(refs) {
    at('before begin', refs[0]?.opId);
    await runs.begin(refs);
    at('after begin', refs[0]?.opId);
  },
  async settle(ref, settlement) {
    const { kind } = settlement;
    if (kind !== 'released') at(`before settle ${kind}`, ref.opId);
    const answer = await runs.settle(ref, settlement);
    if (kind !== 'released' && answer.kind === 'settled') at(`after settle ${kind}`, ref.opId);
    return answer;
  },
  extend: (refs, leaseMs) => runs.extend(refs, leaseMs),
  async claim(request) {
    const claimed = await runs.claim(request);
    if (claimed.length > 0) at('after claim', claimed[0]?.opId);
    return claimed;
  },
});

const steppedRepairs = (repairs: Repairs, at: AtStep): Repairs => ({
  backed: (kind, after, limit) => repairs.backed(kind, after, limit),
  async endBacked(opId, ending, tx) {
    if (!tx) at('before end of backing', opId);
    const answer = await repairs.endBacked(opId, ending, tx);
    // With a transaction nothing has happened yet: its commit is still to come.
    if (answer.kind === 'settled') at(tx ? 'within end of batch' : 'after end of backing', opId);
    return answer;
  },
  dropBacking: (opId) => repairs.dropBacking(opId),
  async cancel(opId, outcome) {
    const answer = await repairs.cancel(opId, outcome);
    if (answer.kind === 'ahead') at('after cancel ahead', opId);
    if (answer.kind === 'cancelled') at('after cancel', opId);
    return answer;
  },
  ahead: (limit, after) => repairs.ahead(limit, after),
  async finalize(opId) {
    at('before finalize', opId);
    const answer = await repairs.finalize(opId);
    if (answer.kind === 'settled') at('after finalize', opId);
    return answer;
  },
  async reap(limit) {
    at('before reap');
    const reaped = await repairs.reap(limit);
    if (reaped.length > 0) at('after reap', reaped[0]?.operation.opId);
    return reaped;
  },
  prune: (retentionMs, limit) => repairs.prune(retentionMs, limit),
});
