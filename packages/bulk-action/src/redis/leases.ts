import { ERRORS } from '../errors.js';
import type { LeasedJob, LeaseRef, SettleAnswer, Settlement } from '../lease.js';
import type { Leases } from '../ports.js';
import { signatureOf } from '../rules/signature.js';
import type { GroupStatus, JobStatus } from '../states.js';
import type { EngineLink } from './engine-link.js';
import type { Values } from './scripts.js';

const LEASE_VALUES = 14;

const RENEWED = { o: 'ok', l: 'lost', c: 'cancelled' } as const;
const GIVEN_BACK = { r: 'ready', l: 'lane', s: 'stale', c: 'cancelled', g: 'gone' } as const;

/** What an orphan's last failure says; `{count}` is filled in by the script. */
const ORPHANED_MESSAGE = ERRORS.specs.ORPHANED.message;
const ORPHANED_SIGNATURE = signatureOf('', 'ORPHANED', ORPHANED_MESSAGE.replace('{count}', '1'));

/** Leases on Redis. */
export const redisLeases = (link: EngineLink): Leases => ({
  async reserve({ instanceId, seq, max }) {
    const reply = await link.run('reserve', { instanceId, seq, max });
    const [rateDenied, missing] = reply.slice(0, 2).map(Number) as [number, number];
    const names = reply.slice(2, 2 + missing);
    const jobs: LeasedJob[] = [];
    for (let at = 2 + missing; at < reply.length; at += LEASE_VALUES) jobs.push(leaseOf(reply, at));
    return { jobs, missing: names.map((name) => splitName(String(name))), rateDenied };
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
      dead: dead.map((name) => splitName(String(name))),
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

function leaseOf(reply: Values, at: number): LeasedJob {
  const deadline = reply[at + 12];
  return {
    key: String(reply[at]),
    jobId: String(reply[at + 1]),
    token: Number(reply[at + 2]),
    tenant: String(reply[at + 3]),
    tenantId: String(reply[at + 4]),
    processorType: String(reply[at + 5]),
    payload: String(reply[at + 6]),
    cost: Number(reply[at + 7]),
    retryCount: Number(reply[at + 8]),
    attempt: Number(reply[at + 9]),
    createdAt: Number(reply[at + 10]),
    waitedMs: Number(reply[at + 11]),
    ...(deadline !== '-' && { deadline: Number(deadline) }),
    traceparent: String(reply[at + 13]),
  };
}

function settlementOf({ key, jobId, token, durationMs, outcome }: Settlement): (string | number)[] {
  const start = [key, jobId, token, durationMs, outcome.kind];
  switch (outcome.kind) {
    case 'success':
      return [...start, '', '', '', 0, 0, ''];
    case 'failure':
      return [
        ...start,
        outcome.error.code,
        outcome.error.message,
        '',
        0,
        outcome.dead ? 1 : 0,
        outcome.signature,
      ];
    case 'retry': {
      const { error, reason, delayMs, spendsRetry } = outcome;
      return [...start, error.code, error.message, reason, delayMs, spendsRetry ? 1 : 0, ''];
    }
  }
}

function settledOf(reply: Values, at: number): SettleAnswer {
  const [status, jobStatus, groupStatus] = reply.slice(at, at + 3);
  return {
    status: status as SettleAnswer['status'],
    ...(jobStatus !== '-' && { jobStatus: jobStatus as JobStatus }),
    ...(groupStatus !== '-' && { groupStatus: groupStatus as GroupStatus }),
  };
}
