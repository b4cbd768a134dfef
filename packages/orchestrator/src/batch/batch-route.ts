import { ERRORS } from '../errors.js';
import type { HandOverContext } from '../handed-over.js';
import type { Command } from '../model.js';
import type { BackedRoute, RouteOptions } from '../routes.js';

/**
 * Makes the payload of a batch of a command. The same command must give the same payload: it is called again after a crash. `P` is what it takes the
 * command's payload for.
 */
export type ToPayload<P = unknown> = (command: Command<P>, context: HandOverContext) => unknown;

/** What a batch route may ask for. `idempotent`: a batch that is gone (pruned before its end was seen) is started again. */
export type BatchOptions = RouteOptions;

/** What stands behind the name of a batch route. */
export interface BatchDefinition {
  readonly dag: string;
  readonly toPayload: ToPayload;
}

/**
 * A route whose commands start batches of a DAG. `batch<Day>(…)` says what their payloads are; nothing checks that they are.
 * @param dag - its name; registered here or by another instance, which is found out when a batch is started.
 * @param toPayload - see ToPayload; the command's payload unless given.
 */
export function batch<P = unknown>(
  dag: string,
  toPayload: ToPayload<P> = ({ payload }) => payload,
  options: BatchOptions = {},
): BackedRoute {
  const definition: BatchDefinition = { dag, toPayload: toPayload as ToPayload };
  return { kind: 'batch', definition, options };
}

/**
 * Checks a route when it is set up.
 * @param route - made by `batch`.
 * @returns what stands behind it.
 * @throws MillraceError `ROUTE_INVALID`.
 */
export function checkedBatchRoute(name: string, { definition }: BackedRoute): BatchDefinition {
  const { dag, toPayload } = definition as Partial<BatchDefinition>;
  const reason =
    typeof dag !== 'string' || dag === ''
      ? 'batch(dag, toPayload) needs the name of a DAG'
      : typeof toPayload !== 'function'
        ? 'batch(dag, toPayload) needs a function that makes a payload of a command'
        : undefined;
  if (reason !== undefined) throw ERRORS.create('ROUTE_INVALID', { route: name, reason });
  return definition as BatchDefinition;
}
