import type { GroupInput, JobInput } from '@millrace/bulk-action';
import { ERRORS } from '../errors.js';
import type { HandOverContext } from '../handed-over.js';
import type { Command } from '../model.js';
import type { BackedRoute, RouteOptions } from '../routes.js';

/** A job of an operation. Its id is the same whenever the group is made again. */
export type BulkJob = JobInput & { readonly id: string };

/** The group of a command. Its id, tenant and trace are those of the operation. */
export interface BulkGroup extends Omit<GroupInput, 'id' | 'tenant' | 'traceparent'> {
  readonly jobs: Iterable<BulkJob>;
}

/**
 * Makes the group of a command. It must return the same for the same command, because it is called again after a crash.
 * `P` is the assumed type of the payload.
 */
export type ToGroup<P = unknown> = (
  command: Command<P>,
  context: HandOverContext,
) => BulkGroup | Promise<BulkGroup>;

/** Options of a bulk route. With `idempotent` a group that is gone (an engine in memory after a restart) is made again. */
export type BulkOptions = RouteOptions;

/** The definition of a bulk route. */
export interface BulkDefinition {
  readonly toGroup: ToGroup;
}

/** Makes a route whose commands become bulk groups. `bulk<Campaign>(…)` sets the assumed type of their payloads. */
export function bulk<P = unknown>(toGroup: ToGroup<P>, options: BulkOptions = {}): BackedRoute {
  const definition: BulkDefinition = { toGroup: toGroup as ToGroup };
  return { kind: 'bulk', definition, options };
}

/**
 * Validates a route.
 * @param route - made by `bulk`.
 * @throws MillraceError `ROUTE_INVALID`.
 */
export function checkBulkRoute(name: string, { definition }: BackedRoute): void {
  if (typeof (definition as Partial<BulkDefinition>).toGroup === 'function') return;
  throw ERRORS.create('ROUTE_INVALID', {
    route: name,
    reason: 'bulk(toGroup) needs a function that makes a group of a command',
  });
}

/**
 * Validates the ids of jobs, by which a repeated submission is recognised. Returns all jobs.
 * @throws MillraceError `HANDOVER_INVALID`.
 */
export function checkedJobs(route: string, jobs: Iterable<BulkJob>): readonly BulkJob[] {
  if (typeof (jobs as Iterable<BulkJob> | undefined)?.[Symbol.iterator] !== 'function')
    throw invalid(route, 'toGroup must give { jobs: [ … ] }');
  const all = [...jobs];
  const ids = new Set<string>();
  for (const [at, job] of all.entries()) {
    const id: unknown = (job as BulkJob | undefined)?.id;
    if (typeof id !== 'string')
      throw invalid(
        route,
        `jobs[${at}] has no id; give every job one that is the same whenever the group is made again`,
      );
    if (ids.size === ids.add(id).size) throw invalid(route, `jobs[${at}] has the id of another job, '${id}'`);
  }
  return all;
}

const invalid = (route: string, reason: string) => ERRORS.create('HANDOVER_INVALID', { route, reason });
