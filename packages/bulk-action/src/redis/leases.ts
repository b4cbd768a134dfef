import { ERRORS } from '../errors.js';
import type { LeasedJob, LeaseRef, Outcome, SettleAnswer, Settlement } from '../lease.js';
import type { Leases } from '../ports.js';
import { signatureOf } from '../rules/signature.js';
import type { GroupStatus, JobStatus } from '../states.js';
import type { EngineLink } from './engine-link.js';

const LEASE_LINES = 9;

const RENEWED = { o: 'ok', l: 'lost', c: 'cancelled' } as const;
const GIVEN_BACK = { r: 'ready', l: 'lane', s: 'stale', c: 'cancelled', g: 'gone' } as const;

/** What an orphan's last failure says; `{count}` is filled in by the script. */
const ORPHANED_MESSAGE = ERRORS.specs.ORPHANED.message;
const ORPHANED_SIGNATURE = signatureOf('', 'ORPHANED', ORPHANED_MESSAGE.replace('{count}', '1'));

/** Leases on Redis. */
export const redisLeases = (link: EngineLink): Leases => ({
  async reserve({ instanceId, seq, max, turns = 0 }) {
    const reply = await link.run('reserve', { instanceId, seq, max, turns });
    const [rateDenied, missing] = [Number(reply[0]), Number(reply[1])];
    const names = reply.slice(2, 2 + missing);
    const jobs: LeasedJob[] = [];
    for (let at = 2 + missing; at < reply.length; at += LEASE_LINES) jobs.push(leaseOf(reply, at));
    return { jobs, missing: names.map(splitName), rateDenied };
  },
  async renew(leases) {
    if (leases.length === 0) return [];
    return [...(await link.run('renew', { leases: flat(leases) }))].map(
      (letter) => RENEWED[letter as keyof typeof RENEWED],
    );
  },
  async settle(settlements) {
    if (settlements.length === 0) return [];
    const reply = await link.run('settle', { settlements: settlements.flatMap(settlementOf) });
    return settlements.map((_, index) => settledOf(reply, index * 3));
  },
  async giveBack(leases) {
    if (leases.length === 0) return [];
    return [...(await link.run('giveBack', { leases: flat(leases) }))].map(
      (letter) => GIVEN_BACK[letter as keyof typeof GIVEN_BACK],
    );
  },
  async recover(randoms) {
    const [recovered, more, ...dead] = await link.run('recover', {
      orphanedMessage: ORPHANED_MESSAGE,
      orphanedSignature: ORPHANED_SIGNATURE,
      randoms,
    });
    return {
      recovered: Number(recovered),
      dead: Array.from({ length: dead.length / 2 }, (_, index) => ({
        ...splitName(String(dead[index * 2])),
        traceparent: String(dead[index * 2 + 1]),
      })),
      more: Number(more) === 1,
    };
  },
  async giveBackAll(instanceId, max) {
    const [returned, more] = await link.run('giveBackAll', { instanceId, max });
    return { returned: Number(returned), more: Number(more) === 1 };
  },
});

const flat = (leases: readonly LeaseRef[]): (string | number)[] =>
  leases.flatMap(({ key, jobId, token }) => [key, jobId, token]);

/** `tenant/group/job`: none of the three has a slash. */
function splitName(name: string): { key: string; jobId: string } {
  const at = name.lastIndexOf('/');
  return { key: name.slice(0, at), jobId: name.slice(at + 1) };
}

/** As pushLease in lua/flights.lua writes it. */
function leaseOf(reply: readonly string[], at: number): LeasedJob {
  const [key, jobId, token, tenantId, processorType] = reply.slice(at, at + 5) as LeaseTexts;
  const [payload, createdAt, waitedMs, unusual] = reply.slice(at + 5, at + LEASE_LINES) as LeaseTexts;
  return {
    key,
    jobId,
    token: Number(token),
    tenant: key.slice(0, key.indexOf('/')),
    tenantId,
    processorType,
    payload,
    createdAt: Number(createdAt),
    waitedMs: Number(waitedMs),
    ...(unusual === '' ? USUAL : unusualOf(unusual)),
  };
}

type LeaseTexts = [string, string, string, string, string];
const USUAL = { cost: 1, retryCount: 0, attempt: 1, traceparent: '' };

/** `cost retry attempt deadline traceparent`, `-` for none. */
function unusualOf(text: string) {
  const [cost, retryCount, attempt, deadline, ...rest] = text.split(' ');
  const traceparent = rest.join(' ');
  return {
    cost: Number(cost),
    retryCount: Number(retryCount),
    attempt: Number(attempt),
    ...(deadline !== '-' && { deadline: Number(deadline) }),
    traceparent: traceparent === '-' ? '' : traceparent,
  };
}

/** Few values: each costs the client more than its characters do. */
function settlementOf({ key, jobId, token, durationMs, outcome }: Settlement): (string | number)[] {
  const start = `${outcome.kind} ${key} ${jobId} ${token} ${durationMs}`;
  switch (outcome.kind) {
    case 'success':
      return isPlain(outcome) ? [start] : resultOf(start, outcome);
    case 'failure': {
      const { error, dead, signature, aggregate } = outcome;
      return [start, error.code, error.message, aggregate ? 'a' : '', 0, dead ? 1 : 0, signature];
    }
    case 'retry': {
      const { error, reason, delayMs, spendsRetry, throttle } = outcome;
      const said = throttle ? `${throttle.retryAfterMs ?? '-'} ${throttle.random}` : '';
      return [start, error.code, error.message, reason, delayMs, spendsRetry ? 1 : 0, said];
    }
  }
}

type Success = Extract<Outcome, { kind: 'success' }>;

/** Leaves nothing for its group. */
const isPlain = ({ data, dropped, aggregate, numbers }: Success): boolean =>
  data === undefined && !dropped && !aggregate && numbers === undefined;

/** As lua/results.lua gathers it; the start of the line says which kind it is. */
function resultOf(start: string, { data, dropped, aggregate, numbers = {} }: Success): string[] {
  const flags = `${aggregate ? 'a' : ''}${dropped ? 'd' : ''}`;
  const counted = Object.entries(numbers).map(([name, value]) => `${name} ${value}`);
  return [start.replace('success', 'result'), data ?? '', flags, counted.join(' ')];
}

/** As LETTERS in lua/settle.lua. */
const SETTLED = { a: 'accepted', s: 'stale', c: 'cancelled', g: 'gone' } as const;
const JOB_STATUSES: Readonly<Record<string, JobStatus>> = { C: 'COMPLETED', F: 'FAILED', P: 'PENDING' };
const GROUP_STATUSES: Readonly<Record<string, GroupStatus>> = {
  N: 'CREATED',
  D: 'DISPATCHED',
  R: 'RUNNING',
  A: 'AGGREGATING',
  C: 'COMPLETED',
  F: 'FAILED',
  K: 'CANCELLED',
};

function settledOf(reply: string, at: number): SettleAnswer {
  const jobStatus = JOB_STATUSES[reply.charAt(at + 1)];
  const groupStatus = GROUP_STATUSES[reply.charAt(at + 2)];
  return {
    status: SETTLED[reply.charAt(at) as keyof typeof SETTLED],
    ...(jobStatus && { jobStatus }),
    ...(groupStatus && { groupStatus }),
  };
}
