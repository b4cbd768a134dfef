import type { Outcome } from '../../src/lease.js';
import type { GroupKey, GroupPatch, TenantPatch } from '../../src/model.js';
import type { DeadLetterFilter, GroupDefinition, Heartbeat, NewJob } from '../../src/ports.js';
import type { JobStatus } from '../../src/states.js';
import type { GroupFilter } from '../../src/store-views.js';

/*
 * One command for every member of the store's ports, as plain data. Nothing in it depends on how a store numbers its
 * leases or on when it was opened, so that a list of commands can be given to any store, and stays meaningful when
 * some of them are left out.
 */

/** A lease by name: the nth that this job was given since the store was opened, from 1. 0 names one that never was. */
export interface LeaseName {
  readonly key: GroupKey;
  readonly jobId: string;
  readonly nth: number;
}

/** A try to be reported. */
export interface NamedSettlement extends LeaseName {
  readonly durationMs: number;
  readonly outcome: Outcome;
}

/** A claim on the results of a group. */
export interface ClaimName {
  readonly key: GroupKey;
  readonly round: number;
  readonly token: string;
}

/** Adds up results. */
export type AggregationCommand =
  | {
      readonly kind: 'claim';
      readonly token: string;
      readonly ms: number;
      readonly types?: readonly string[];
    }
  | { readonly kind: 'claimGroup'; readonly key: GroupKey; readonly token: string; readonly ms: number }
  | ({ readonly kind: 'renewAggregation'; readonly ms: number } & ClaimName)
  | ({ readonly kind: 'finishAggregation'; readonly data?: string } & ClaimName)
  | ({ readonly kind: 'failAggregation'; readonly message: string } & ClaimName);

/** A list that comes in pages; the whole of it is asked for, `limit` items at a time. */
export type ListCommand =
  | { readonly kind: 'groups'; readonly filter: GroupFilter; readonly limit: number }
  | { readonly kind: 'jobs'; readonly key: GroupKey; readonly state?: JobStatus; readonly limit: number }
  | { readonly kind: 'results'; readonly key: GroupKey; readonly limit: number }
  | { readonly kind: 'dead letters'; readonly filter: DeadLetterFilter; readonly limit: number };

/** Changes groups and tenants. Moments are milliseconds since the store was opened. */
type GroupCommand =
  | { readonly kind: 'create'; readonly definition: GroupDefinition }
  | {
      readonly kind: 'add';
      readonly definition: GroupDefinition;
      readonly jobs: readonly NewJob[];
      readonly incoming: number;
    }
  | { readonly kind: 'seal'; readonly key: GroupKey; readonly total?: number }
  | { readonly kind: 'cancel' | 'pause' | 'resume' | 'forgetSlowness'; readonly key: GroupKey }
  | {
      readonly kind: 'update';
      readonly key: GroupKey;
      readonly patch: GroupPatch;
      /** The deadline is given as a Date. */
      readonly asDate?: true;
    }
  | { readonly kind: 'updateTenant'; readonly tenantId: string; readonly patch: TenantPatch };

/** Moves jobs. */
type MoveCommand =
  | { readonly kind: 'fetch' | 'dispatch' | 'sweep' | 'watch' | 'reconcile'; readonly max: number }
  | { readonly kind: 'admit'; readonly key: GroupKey; readonly jobId: string }
  | { readonly kind: 'checkRate'; readonly key: GroupKey; readonly cost: number }
  | {
      readonly kind: 'reserve';
      readonly instanceId: string;
      readonly seq: number;
      readonly max: number;
      readonly turns: number;
    }
  | { readonly kind: 'renew' | 'giveBack'; readonly leases: readonly LeaseName[] }
  | { readonly kind: 'settle'; readonly settlements: readonly NamedSettlement[] }
  | { readonly kind: 'giveBackAll'; readonly instanceId: string; readonly max: number }
  | { readonly kind: 'recover'; readonly randoms: readonly number[] }
  | { readonly kind: 'redrive' | 'purge'; readonly filter: DeadLetterFilter; readonly max: number };

/** Who is alive, and effects that happen once. */
type PresenceCommand =
  | { readonly kind: 'heartbeat'; readonly instance: Heartbeat }
  | { readonly kind: 'leave'; readonly instanceId: string }
  | { readonly kind: 'instances' }
  | {
      readonly kind: 'begin' | 'renewOnce';
      readonly key: string;
      readonly token: string;
      readonly ms: number;
    }
  | {
      readonly kind: 'finish';
      readonly key: string;
      readonly token: string;
      readonly result: string;
      readonly ms: number;
    }
  | { readonly kind: 'release'; readonly key: string; readonly token: string };

/** Asks a store as one of several shards. */
type HomeCommand =
  | { readonly kind: 'createHere'; readonly definition: GroupDefinition }
  | {
      readonly kind: 'addHere';
      readonly definition: GroupDefinition;
      readonly jobs: readonly NewJob[];
      readonly incoming: number;
    }
  | { readonly kind: 'claimHome'; readonly key: GroupKey; readonly shard: number }
  | { readonly kind: 'locate'; readonly key: GroupKey }
  | { readonly kind: 'claims'; readonly ageMs: number; readonly max: number }
  | {
      readonly kind: 'checkHome';
      readonly key: GroupKey;
      readonly found: boolean;
      /** Looked at before it was made anew. */
      readonly stale?: true;
    };

/** Looks without changing anything. */
export type LookCommand =
  | { readonly kind: 'group'; readonly key: GroupKey }
  | { readonly kind: 'result'; readonly key: GroupKey; readonly round?: number }
  | { readonly kind: 'job' | 'explain'; readonly key: GroupKey; readonly jobId: string }
  | { readonly kind: 'tenant'; readonly tenantId: string }
  | { readonly kind: 'fairness'; readonly limit: number }
  | { readonly kind: 'queues' | 'resources' }
  | { readonly kind: 'slowness'; readonly key: GroupKey }
  | {
      readonly kind: 'signatures';
      readonly filter: Pick<DeadLetterFilter, 'tenant' | 'key'>;
      readonly limit: number;
    }
  | ListCommand
  /** Opens a list and leaves it open; the rest is asked for later, when much may have changed. */
  | { readonly kind: 'first page'; readonly list: ListCommand }
  | { readonly kind: 'other pages' };

/** Anything that may be asked of a store; `advance` moves its time. */
export type Command =
  | GroupCommand
  | MoveCommand
  | AggregationCommand
  | PresenceCommand
  | HomeCommand
  | LookCommand
  | { readonly kind: 'advance'; readonly ms: number };

/** Every kind of command: one that a run never gives is not tested. */
export const COMMAND_KINDS = [
  ...['create', 'add', 'seal', 'cancel', 'pause', 'resume', 'update', 'updateTenant'],
  ...['fetch', 'dispatch', 'sweep', 'admit', 'checkRate', 'reserve', 'renew', 'giveBack', 'settle'],
  ...['watch', 'reconcile'],
  ...['giveBackAll', 'recover', 'redrive', 'purge', 'heartbeat', 'leave', 'instances', 'begin', 'renewOnce'],
  ...['finish', 'release', 'group', 'result', 'job', 'explain', 'tenant', 'fairness', 'queues', 'signatures'],
  ...['resources', 'slowness', 'forgetSlowness'],
  ...['claim', 'claimGroup', 'renewAggregation', 'finishAggregation', 'failAggregation', 'results'],
  ...['createHere', 'addHere', 'claimHome', 'locate', 'claims', 'checkHome'],
  ...['groups', 'jobs', 'dead letters', 'first page', 'other pages', 'advance'],
] as const satisfies readonly string[];
