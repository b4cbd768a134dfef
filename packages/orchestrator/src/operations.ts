import { integerOption, resolveOptions, textOption } from '@millrace/foundation';
import { routeOf } from './check-command.js';
import { ERRORS } from './errors.js';
import type { Finalizer } from './finalizer.js';
import { type Operation, type OperationFilter, operationFields, type Page } from './model.js';
import { OpId } from './op-id.js';
import { Outcome } from './outcome.js';
import type { OrchestratorParts } from './parts.js';
import type { OpenCounts, OperationCounts } from './ports.js';
import { isTerminal } from './states.js';

/** The tenant whose operations are visible (all). */
export interface TenantScope {
  readonly tenant?: string | undefined;
}

/** A page of a list. */
export interface OperationPageRequest {
  /** Maximum number of operations, 1 to 1000 (100). */
  readonly limit?: number | undefined;
  /** Cursor of the last page (the first page). */
  readonly cursor?: string | undefined;
}

/** The probable end of an operation. */
export interface Estimate {
  readonly completionAt: Date;
  readonly retryAfterMs: number;
}

const PAGE_SPEC = {
  owner: 'Operations.list',
  defaults: { limit: 100 },
  rules: { limit: integerOption({ min: 1, max: 1_000 }), cursor: textOption({ min: 1, max: 1_000 }) },
};
/** Maximum number of routes whose durations are kept. Others have no estimate. */
const ROUTES_MAX = 1_000;
const DURATION_UNKNOWN_MS = 1_000;
const ASK_AGAIN_MIN_MS = 100;
/** Number of ended operations of a route from which the duration of the next is estimated. */
const DURATIONS_KEPT = 64;
const DURATION_QUANTILE = 0.9;
/** Time for which a reader of changes waits before it reads the operation again. */
const CHANGES_WAIT_MS = 30_000;

/** Reads, watches and cancels operations. */
export class Operations {
  readonly #parts: OrchestratorParts;
  readonly #finalizer: Finalizer;
  readonly #durations = new Map<string, readonly number[]>();

  constructor(parts: OrchestratorParts, finalizer: Finalizer) {
    this.#parts = parts;
    this.#finalizer = finalizer;
    parts.events.on('ended', ({ operation }) => this.#learn(operation));
  }

  /**
   * Returns an operation. One of another tenant than the scope's is not found.
   * @throws MillraceError `OPERATION_NOT_FOUND`, `ID_INVALID`.
   */
  async get(opId: string, scope: TenantScope = {}): Promise<Operation> {
    const id = OpId.of(opId);
    return this.#visible(id, await this.#parts.options.store.views.get(id), scope);
  }

  /**
   * Waits at most `waitMs` for the end of an operation. Returns the operation then, ended or not.
   * @throws MillraceError `OPERATION_NOT_FOUND`, `ID_INVALID`.
   */
  async waitForEnd(
    opId: string,
    waitMs: number,
    { signal, ...scope }: TenantScope & { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Operation> {
    const operation = await this.get(opId, scope);
    if (isTerminal(operation.state) || waitMs <= 0) return operation;
    const { waits } = this.#parts;
    const ended = waits.forEnd(operation.opId, waitMs, signal);
    waits.look(operation.opId);
    return (await ended) ?? (await this.get(opId, scope));
  }

  /**
   * Yields an operation now and after each change, until it has ended.
   * @throws MillraceError `OPERATION_NOT_FOUND`, `ID_INVALID`, from the first `next()`.
   */
  async *changes(
    opId: string,
    { signal, ...scope }: TenantScope & { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Operation, void, undefined> {
    const { waits } = this.#parts;
    let current = await this.get(opId, scope);
    yield current;
    while (!isTerminal(current.state) && !signal?.aborted && !waits.isStopped) {
      const next = await this.#nextChange(current, signal);
      if (!next) continue;
      current = next;
      yield current;
    }
  }

  /**
   * Returns a page of operations, the newest first.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ID_INVALID` (the cursor).
   */
  async list(filter: OperationFilter = {}, page: OperationPageRequest = {}): Promise<Page<Operation>> {
    const { limit, cursor } = resolveOptions<{ limit: number; cursor?: string }>(
      PAGE_SPEC as never,
      page as never,
    );
    return this.#parts.options.store.views.list(filter, limit, cursor);
  }

  /** Counts all operations. Ended ones are counted one by one, so do not call it every second. */
  counts(): Promise<OperationCounts> {
    return this.#parts.options.store.views.counts();
  }

  /** Counts the operations that have not ended. The cost grows with their number only. */
  openCounts(): Promise<OpenCounts> {
    return this.#parts.options.store.views.openCounts();
  }

  /**
   * Ends an operation as FAILED `CANCELLED` and cancels the work behind it. Returns an ended operation unchanged.
   * @throws MillraceError `OPERATION_NOT_FOUND`, `ID_INVALID`, `ROUTE_NOT_FOUND`, and errors of the part that has the work,
   * such as `BACKEND_UNAVAILABLE`. After the last two the operation is cancelled all the same: the Finalizer cancels the
   * work later.
   */
  async cancel(opId: string, scope: TenantScope = {}): Promise<Operation> {
    const { options, attempts, waits } = this.#parts;
    const { store, logger } = options;
    const found = await this.get(opId, scope);
    const { opId: id } = found;
    const error = ERRORS.create('CANCELLED', {});
    const answer = await store.repairs.cancel(id, Outcome.fail(error.code, error.message));
    if (answer.kind === 'unknown') throw ERRORS.create('OPERATION_NOT_FOUND', { opId: id });
    logger.info({ ...operationFields(found), became: answer.kind }, 'Operation cancelled');
    if (answer.kind === 'ahead')
      return (await this.#finalizer.finalize(answer.operation)) ?? answer.operation;
    if (answer.kind === 'cancelled') {
      attempts.abort(id, error);
      // Notified without a waiter too: the instance that runs it has to stop.
      waits.announceEnd({ kind: 'settled', operation: answer.operation, waited: true });
    }
    return answer.operation;
  }

  /**
   * Estimates the end of an operation from those of its route that ended here.
   * @param operation - its route and the time of its acceptance (now).
   */
  estimate(
    operation: Pick<Operation, 'domain' | 'eventType'> & Partial<Pick<Operation, 'acceptedAt'>>,
  ): Estimate {
    const now = this.#parts.options.clock.now();
    const wholeMs = estimatedMs(this.#durations.get(routeOf(operation)), DURATION_UNKNOWN_MS);
    const leftMs = (operation.acceptedAt?.getTime() ?? now) + wholeMs - now;
    const retryAfterMs = Math.max(ASK_AGAIN_MIN_MS, leftMs);
    return { completionAt: new Date(now + retryAfterMs), retryAfterMs };
  }

  async #nextChange(current: Operation, signal: AbortSignal | undefined): Promise<Operation | undefined> {
    const { waits } = this.#parts;
    const seen = changeKey(current);
    return new Promise((resolve) => {
      const done = (operation?: Operation) => {
        leave();
        cancel();
        signal?.removeEventListener('abort', onAbort);
        resolve(operation);
      };
      const onAbort = () => done();
      const cancel = this.#parts.options.clock.setTimer(CHANGES_WAIT_MS, onAbort, { unref: true });
      let leave = () => {};
      leave = waits.enter(current.opId, CHANGES_WAIT_MS, {
        tell: (operation) => {
          if (changeKey(operation) !== seen) done(operation);
        },
        wantsChanges: true,
        end: onAbort,
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      waits.look(current.opId);
    });
  }

  #visible(opId: OpId, operation: Operation | undefined, { tenant }: TenantScope): Operation {
    if (operation && (tenant === undefined || operation.tenant === tenant)) return operation;
    throw ERRORS.create('OPERATION_NOT_FOUND', { opId });
  }

  #learn(operation: Operation): void {
    const route = routeOf(operation);
    if (!operation.endedAt || (!this.#durations.has(route) && this.#durations.size >= ROUTES_MAX)) return;
    const durationMs = operation.endedAt.getTime() - operation.acceptedAt.getTime();
    this.#durations.set(route, withDuration(this.#durations.get(route), Math.max(0, durationMs)));
  }
}

/** Differs after each change that readers see. An extended lease is none. */
const changeKey = ({ state, attempts, refusals, dueAt, backing, owner }: Operation): string =>
  [state, attempts, refusals, dueAt?.getTime(), backing?.ref, owner].join('|');

/** Adds a duration to the latest of a route and drops the oldest. */
export const withDuration = (recent: readonly number[] | undefined, durationMs: number): readonly number[] =>
  [...(recent ?? []), durationMs].slice(-DURATIONS_KEPT);

/** Estimates the duration of an operation of a route, from its acceptance to its end. */
export function estimatedMs(recent: readonly number[] | undefined, unknownMs: number): number {
  if (!recent || recent.length === 0) return unknownMs;
  const sorted = [...recent].sort((one, other) => one - other);
  return sorted[Math.ceil(DURATION_QUANTILE * sorted.length) - 1] ?? unknownMs;
}
