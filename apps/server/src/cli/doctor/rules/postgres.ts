import { amount, duration } from '../../show/amounts.js';
import { type Finding, finding } from '../finding.js';

/** As the alert in docs/operations.md: while a transaction is open PostgreSQL cannot clean up behind it. */
export const TRANSACTION_MAX_MS = 1_800_000;

/** What a PostgreSQL says of itself. */
export interface PostgresFacts {
  readonly version: string;
  /** It follows another one and takes no writes. */
  readonly isStandby: boolean;
  readonly connectionsMax: number;
  /** Kept for administrators. */
  readonly connectionsReserved: number;
  /** In use by others than Millrace. */
  readonly connectionsOfOthers: number;
  /** The transaction that has been open longest; null: there is none that can be seen. */
  readonly oldest: {
    readonly pid: number;
    readonly user: string;
    readonly application: string;
    readonly ms: number;
  } | null;
}

/** What Millrace needs of it. */
export interface ConnectionNeed {
  readonly perInstance: number;
  readonly instances: number;
}

/** Judges a PostgreSQL that answers. */
export function judgePostgres(facts: PostgresFacts, need: ConnectionNeed): readonly Finding[] {
  const first = facts.isStandby
    ? finding('failure', 'postgres.role', 'DATABASE_URL names a standby, which takes no writes', {
        action: 'Let DATABASE_URL name the primary.',
      })
    : finding('ok', 'postgres.version', `PostgreSQL ${facts.version} answers`);
  return [first, judgeConnections(facts, need), judgeTransaction(facts)];
}

function judgeConnections(facts: PostgresFacts, { perInstance, instances }: ConnectionNeed): Finding {
  const { connectionsMax, connectionsReserved, connectionsOfOthers } = facts;
  const free = connectionsMax - connectionsReserved - connectionsOfOthers;
  const needed = perInstance * instances;
  const seen = `${instances} × ${perInstance} are needed at most; of max_connections ${amount(connectionsMax)} there are ${amount(Math.max(0, free))} for Millrace (${amount(connectionsReserved)} are reserved, others use ${amount(connectionsOfOthers)}).`;
  if (needed <= free) return finding('ok', 'postgres.connections', 'There are enough connections', { seen });
  const most = connectionsMax - free + needed;
  return finding('warning', 'postgres.connections', 'There are too few connections for all instances', {
    seen,
    action: `Raise max_connections to ${amount(most)} or more (ALTER SYSTEM SET max_connections = ${most}; then restart PostgreSQL), or run fewer instances.`,
  });
}

function judgeTransaction({ oldest }: PostgresFacts): Finding {
  const check = 'postgres.transactions';
  if (!oldest || oldest.ms < TRANSACTION_MAX_MS)
    return finding('ok', check, 'No transaction has been open for long');
  const { pid, user, application, ms } = oldest;
  return finding('warning', check, 'A transaction has been open for very long', {
    seen: `Process ${pid} of user ${user}${application === '' ? '' : ` (${application})`}: ${duration(ms)}. PostgreSQL cannot clean up behind it, and everything gets slower.`,
    action: `Find out what it does (SELECT * FROM pg_stat_activity WHERE pid = ${pid}), then end it: SELECT pg_terminate_backend(${pid})`,
  });
}
