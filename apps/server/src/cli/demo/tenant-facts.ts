import type { ResponseOf } from '@millrace/contract/server-client';
import { CALLER, isShop, WHALE } from '../../demo/plan.js';
import type { GroupTimes, ServiceFacts, TenantFacts } from './facts.js';
import type { ShareLedger } from './share-ledger.js';

type Group = ResponseOf<'getGroup'>;

/** States that a group stays in. */
const ENDS: readonly Group['status'][] = ['COMPLETED', 'FAILED', 'CANCELLED'];

/** Whether a group has ended. */
export const hasEnded = ({ status }: Pick<Group, 'status'>): boolean => ENDS.includes(status);

/** How the tenants of a demo fare: the whale first, then the small ones, then the others. */
export function tenantFacts(groups: readonly Group[], ledger: ShareLedger): readonly TenantFacts[] {
  const byTenant = new Map<string, Group[]>();
  for (const group of groups) byTenant.set(group.tenant, [...(byTenant.get(group.tenant) ?? []), group]);
  return [...byTenant]
    .map(([id, own]) => ({
      id,
      kind: kindOf(id),
      ...jobCounts(own),
      now: ledger.recent(id),
      overall: ledger.of(id),
      groups: own.map(timesOf),
    }))
    .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.id < b.id ? -1 : 1));
}

const KINDS = ['whale', 'small', 'other'] as const;

function kindOf(id: string): TenantFacts['kind'] {
  if (id === WHALE) return 'whale';
  return isShop(id) ? 'small' : 'other';
}

function jobCounts(groups: readonly Group[]) {
  const sum = (of: (group: Group) => number) => groups.reduce((total, group) => total + of(group), 0);
  const open = groups.filter((group) => !hasEnded(group));
  const etas = open.map(({ progress }) => progress.etaMs);
  return {
    jobs: sum(({ progress }) => progress.registered),
    done: sum(({ progress }) => progress.success),
    failed: sum(({ progress }) => progress.failed),
    cancelled: sum(({ progress }) => progress.cancelled),
    perSecond: open.reduce((total, { settledPerSecond }) => total + settledPerSecond, 0),
    etaMs: etas.length === 0 || etas.includes(null) ? null : Math.max(...(etas as number[])),
  };
}

function timesOf({ createdAt, startedAt, endedAt, status }: Group): GroupTimes {
  const after = (time: string | null) => (time === null ? null : Date.parse(time) - Date.parse(createdAt));
  return { startedAfterMs: after(startedAt), doneAfterMs: status === 'COMPLETED' ? after(endedAt) : null };
}

/**
 * How the service that the demo calls holds it back.
 * @returns null before the first call.
 */
export function serviceFacts(
  congestion: ResponseOf<'getCongestion'>,
  groups: readonly Group[],
): ServiceFacts | null {
  const calling = groups.filter(({ tenant }) => tenant === CALLER);
  const service = congestion.resources.find(({ resource }) => resource.startsWith('demo-'));
  if (!service || calling.length === 0) return null;
  const open = calling.find((group) => !hasEnded(group));
  return {
    resource: service.resource,
    perSecond: service.rate,
    limit: service.limit,
    refused: calling.reduce((sum, { throttled }) => sum + throttled, 0),
    level: open?.progress.congestion.level ?? 'NONE',
  };
}
