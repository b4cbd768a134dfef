import { some, type Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import { jobName } from './plan.js';
import { keptItsLease, type Try } from './tries.js';

const WINDOW_MS = 1000;

/** I5: at every instant no more tries with a valid lease than the cap of their group and tenant. */
export function checkCaps({ plan, testimony }: Evidence): Verdict {
  const wrong: string[] = [];
  let looked = 0;
  const look = (what: string, cap: number, groups: ReadonlySet<string>) => {
    looked += 1;
    const most = mostAtOnce(testimony.tries.filter((one) => groups.has(one.group) && keptItsLease(one)));
    if (most > cap) wrong.push(`${what}: ${most} at once, ${cap} allowed`);
  };
  for (const { input } of plan.groups) {
    if (input.concurrency !== undefined) look(input.id, input.concurrency, new Set([input.id]));
  }
  for (const [tenant, cap] of Object.entries(plan.tenantCaps)) {
    const own = plan.groups.filter(({ input }) => input.tenantId === tenant).map(({ input }) => input.id);
    look(`tenant ${tenant}`, cap, new Set(own));
  }
  return {
    invariant: 'I5 caps kept',
    held: wrong.length === 0,
    evidence: wrong.length > 0 ? some(wrong) : `${looked} caps, none exceeded`,
  };
}

/**
 * I7: in every second no more starts of a group than its rate and burst, by the store's stamps of last tries and by the
 * ledger. The ledger is written after the start in the store, by a process that may have been slow: two starts may stand
 * closer together there than they were.
 */
export function checkRates({ plan, testimony, jobs }: Evidence, delayMs: number): Verdict {
  const wrong: string[] = [];
  let looked = 0;
  const look = (what: string, moments: readonly number[], allowed: number) => {
    const most = mostInWindow(moments);
    if (most > allowed) wrong.push(`${what}: ${most} starts in a second, ${Math.floor(allowed)} allowed`);
  };
  for (const { input, jobs: own } of plan.groups) {
    const { id, rps, burst = 1 } = input;
    if (rps === undefined) continue;
    looked += 1;
    const stamps = own.map((job) => jobs.get(jobName(id, job.id))?.startedAt);
    look(
      `${id} in the store`,
      stamps.filter((at) => at !== undefined),
      rps + burst,
    );
    const starts = testimony.tries.filter((one) => one.group === id && keptItsLease(one));
    look(
      `${id} in the ledger`,
      starts.map(({ beganAt }) => beganAt),
      (rps * (WINDOW_MS + delayMs)) / 1000 + burst,
    );
  }
  return {
    invariant: 'I7 rates kept',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${looked} rates, none exceeded (the ledger may lag ${delayMs} ms)`,
  };
}

function mostAtOnce(tries: readonly Try[]): number {
  const steps = tries.flatMap(({ beganAt, endedAt }) => [
    { at: beganAt, step: 1 },
    { at: Math.max(beganAt, endedAt ?? beganAt), step: -1 },
  ]);
  // The ledger's milliseconds are coarse: within one, the end came first.
  steps.sort((a, b) => a.at - b.at || a.step - b.step);
  let now = 0;
  let most = 0;
  for (const { step } of steps) {
    now += step;
    most = Math.max(most, now);
  }
  return most;
}

/**
 * The most moments within any second.
 * @param moments - in ms, in any order.
 */
export function mostInWindow(moments: readonly number[]): number {
  const sorted = [...moments].sort((a, b) => a - b);
  let most = 0;
  for (let from = 0, to = 0; to < sorted.length; to++) {
    while ((sorted[to] as number) - (sorted[from] as number) >= WINDOW_MS) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
