import { some, type Verdict } from '../registry.js';
import type { Evidence } from './evidence.js';
import { isFinal, type SettledTry } from './tries.js';

/**
 * I3: a job ran at most 1 + retries + lease losses + give-backs + throttled tries times, each under a lease of its own.
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
 * I4: a token that another one has replaced changes nothing. What ended a job was its newest token; what else was
 * accepted came from a try that ended before anybody had a newer one.
 * @param expected - whether the scenario must have brought some about.
 */
export function checkStaleRefused({ testimony, jobs }: Evidence, expected: boolean): Verdict {
  const { settled, tries, leases } = testimony;
  const wrong: string[] = [];
  const accepted = settled.filter(({ status }) => status === 'accepted');
  const refused = settled.filter(({ status }) => status === 'stale');
  const names = new Set(accepted.map(tokenName));
  for (const one of refused) {
    const newest = Math.max(...(leases.get(one.job) ?? []).map(({ token }) => token));
    if (names.has(tokenName(one))) wrong.push(`${tokenName(one)}: refused and accepted`);
    // Whoever completes a job has its newest token: refused, it was a repeat, which must get the first answer again.
    else if (one.token === newest && jobs.get(one.job)?.status === 'COMPLETED')
      wrong.push(`${tokenName(one)} completed it and was refused`);
  }
  for (const one of accepted.filter(isFinal)) {
    const newer = leases.get(one.job)?.find(({ token }) => token > one.token);
    if (newer) wrong.push(`${tokenName(one)} ended it, though ${newer.token} was given`);
  }
  for (const { job, token = 0, answer, endedAt = 0 } of tries) {
    const newer = leases.get(job)?.find((lease) => lease.token > token && lease.at < endedAt);
    if (newer && answer === 'accepted') wrong.push(`${job} by token ${token} counted, after ${newer.token}`);
  }
  return {
    invariant: 'I4 stale settlements refused',
    held: wrong.length === 0 && accepted.length > 0 && (!expected || refused.length > 0),
    evidence: wrong.length > 0 ? some(wrong) : `${refused.length} refused, ${accepted.length} accepted`,
  };
}

const tokenName = ({ job, token }: SettledTry): string => `${job} by token ${token}`;
