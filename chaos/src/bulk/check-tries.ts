import type { Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import { some } from './some.js';

/**
 * I3: a job ran at most 1 + retries + lease losses + give-backs + throttled tries times, each under a lease of its own.
 * @param evidence - store and ledger.
 */
export function checkExecutions({ testimony, jobs }: Evidence): Verdict {
  const wrong: string[] = [];
  const runs = new Map<string, { attempts: Set<number>; count: number; free: number }>();
  for (const { job, attempt, how, answer } of testimony.tries) {
    const run = runs.get(job) ?? { attempts: new Set(), count: 0, free: 0 };
    runs.set(job, run);
    run.attempts.add(attempt);
    run.count += 1;
    // A lease whose loss the process itself noticed and reported in time is in no count of the store.
    if (how === 'throttled' || (how === 'aborted' && answer !== 'stale')) run.free += 1;
  }
  for (const [name, { attempts, count, free }] of runs) {
    const job = jobs.get(name);
    if (!job) continue;
    const givenBack = testimony.givenBack.get(name) ?? 0;
    const explained = 1 + job.retryCount + job.orphanCount + givenBack + free;
    if (count > explained) wrong.push(`${name} ran ${count} times, ${explained} are explained`);
    if (attempts.size !== count) wrong.push(`${name} ran ${count} times under ${attempts.size} leases`);
  }
  const again = testimony.tries.length - runs.size;
  return {
    invariant: 'I3 executions explained',
    held: wrong.length === 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${testimony.tries.length} executions, ${again} of them repeats`,
  };
}

/**
 * I4: a token that another one has replaced changes nothing.
 * @param evidence - store and ledger.
 * @param expected - whether the scenario must have brought some about.
 */
export function checkStaleRefused({ testimony }: Evidence, expected: boolean): Verdict {
  const refused = testimony.settled.filter(({ status }) => status === 'stale');
  const accepted = new Set(
    testimony.settled
      .filter(({ status }) => status === 'accepted')
      .map(({ job, token }) => `${job} ${token}`),
  );
  const both = refused.map(({ job, token }) => `${job} ${token}`).filter((name) => accepted.has(name));
  const twice = refused.length + accepted.size;
  return {
    invariant: 'I4 stale settlements refused',
    held: both.length === 0 && twice > 0 && (!expected || refused.length > 0),
    evidence:
      both.length > 0
        ? `refused and accepted: ${some(both)}`
        : `${refused.length} refused, ${accepted.size} accepted`,
  };
}
