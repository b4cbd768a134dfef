import {
  type DeadLetterFacts,
  type DemoFacts,
  type OperationFacts,
  type Spread,
  spreadOf,
  type TenantFacts,
} from './facts.js';
import { takeaways } from './takeaways.js';

/** What a tenant got. */
export interface TenantSummary {
  readonly tenant: string;
  readonly groups: number;
  readonly jobs: number;
  readonly success: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Of all cost that was started while it wanted something; null: it never did for long enough to tell. */
  readonly share: number | null;
  /** What its weight was entitled to then. */
  readonly fairShare: number | null;
  /** From the submission of a group to the start of its first job; null: none has started. */
  readonly firstStartMs: Spread | null;
  /** From the submission of a group to its end; null: none has completed. */
  readonly doneMs: Spread | null;
}

/** What came of a demo. */
export interface DemoSummary {
  readonly run: string;
  readonly url: string;
  /** Whether the server was the command's own: then it is gone. */
  readonly ownServer: boolean;
  readonly seconds: number;
  readonly tenants: readonly TenantSummary[];
  readonly service: {
    readonly resource: string;
    readonly refused: number;
    readonly learntPerSecond: number | null;
  } | null;
  readonly deadLetters: DeadLetterFacts;
  readonly batches: { readonly done: number; readonly failed: number; readonly open: number };
  readonly operations: OperationFacts;
  readonly chat: { readonly turns: number; readonly answered: number; readonly pieces: number };
  /** What to take away from it, in sentences. */
  readonly takeaways: readonly string[];
}

/**
 * What came of a demo.
 * @param ownServer - whether the server was the command's own.
 */
export function summaryOf(facts: DemoFacts, ownServer: boolean): DemoSummary {
  const { run, url, lengthMs, elapsedMs, service, deadLetters, operations } = facts;
  const { done, failed, open } = facts.batches;
  const { turns, answered, pieces } = facts.chat;
  return {
    run,
    url,
    ownServer,
    seconds: Math.round(Math.min(lengthMs, elapsedMs) / 1000),
    tenants: facts.tenants.map(tenantSummary),
    service: service && {
      resource: service.resource,
      refused: service.refused,
      learntPerSecond: service.limit,
    },
    deadLetters,
    batches: { done, failed, open },
    operations,
    chat: { turns, answered, pieces },
    takeaways: takeaways(facts),
  };
}

function tenantSummary(tenant: TenantFacts): TenantSummary {
  const { id, groups, jobs, done, failed, cancelled, overall } = tenant;
  return {
    tenant: id,
    groups: groups.length,
    jobs,
    success: done,
    failed,
    cancelled,
    share: overall?.share ?? null,
    fairShare: overall?.fairShare ?? null,
    firstStartMs: spreadOf(groups.map(({ startedAfterMs }) => startedAfterMs)),
    doneMs: spreadOf(groups.map(({ doneAfterMs }) => doneAfterMs)),
  };
}
