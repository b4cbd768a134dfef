import { ERRORS } from '../errors.js';
import type { HandOverContext } from '../handed-over.js';
import type { Command } from '../model.js';
import type { BackedRoute, RouteOptions } from '../routes.js';

/**
 * Makes the payload of a command's batch. It must return the same for the same command, because it is called again after a
 * crash. `P` is the assumed type of the command's payload.
 */
export type ToPayload<P = unknown> = (command: Command<P>, context: HandOverContext) => unknown;

/** Options of a batch route. With `idempotent` a batch that was pruned before its end was read is started again. */
export type BatchOptions = RouteOptions;

/** The definition of a batch route. */
export interface BatchDefinition {
  readonly dag: string;
  readonly toPayload: ToPayload;
}

/**
 * Makes a route whose commands start batches of a DAG. `batch<Day>(…)` sets the assumed type of their payloads.
 * @param dag - its name, registered here or by another instance. It is checked when a batch starts.
 * @param toPayload - makes the payload of the batch (the command's payload).
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
 * Validates a route and returns its definition.
 * @param route - made by `batch`.
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
