import { integerOption, resolveOptions, textOption } from '@millrace/foundation';
import { routeOf } from './check-command.js';
import { ERRORS } from './errors.js';
import type { Finalizer } from './finalizer.js';
import { type Operation, type OperationFilter, operationFields, type Page } from './model.js';
import { OpId } from './op-id.js';
import { Outcome } from './outcome.js';
import type { OrchestratorParts } from './parts.js';
import type { OpenCounts, OperationCounts } from './ports.js';
import { foretellMs, type RouteDurations, withDuration } from './rules/route-durations.js';
import { isTerminal } from './states.js';

/** Whose operations somebody may see; all of them unless given. */
export interface TenantScope {
  readonly tenant?: string | undefined;
}

/** Which part of a list. */
export interface OperationPageRequest {
  /** 1 to 1000 (100). */
  readonly limit?: number | undefined;
  /** Of the page before. */
  readonly cursor?: string | undefined;
}

/** When an operation will have ended, most likely. */
export interface Estimate {
  readonly completionAt: Date;
  readonly retryAfterMs: number;
}

const PAGE_SPEC = {
  owner: 'Operations.list',
  defaults: { limit: 100 },
  rules: { limit: integerOption({ min: 1, max: 1_000 }), cursor: textOption({ min: 1, max: 1_000 }) },
};
/** Routes whose durations are kept; more are not foretold. */
const ROUTES_MAX = 1_000;
const DURATION_UNKNOWN_MS = 1_000;
const ASK_AGAIN_MIN_MS = 100;
/** One look at an operation asks for news for so long. */
const CHANGES_WAIT_MS = 30_000;

/** Questions about operations, and their cancellation. */
export class Operations {
  readonly #parts: OrchestratorParts;
  readonly #finalizer: Finalizer;
  readonly #durations = new Map<string, RouteDurations>();

  constructor(parts: OrchestratorParts, finalizer: Finalizer) {
    this.#parts = parts;
    this.#finalizer = finalizer;
    parts.events.on('ended', ({ operation }) => this.#learn(operation));
  }

  /**
   * An operation as it is now.
   * @param scope - `tenant`: another one's is not found.
   * @throws MillraceError `OPERATION_NOT_FOUND`, `ID_INVALID`.
   */
  async get(opId: string, scope: TenantScope = {}): Promise<Operation> {
    const id = OpId.of(opId);
    return this.#visible(id, await this.#parts.options.store.views.get(id), scope);
  }

  /**
   * Waits for the end of an operation.
   * @param waitMs - longest wait.
   * @returns the operation as it is then, ended or not.
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
   * An operation as it is, and again whenever something became of it, until it has ended.
   * @throws MillraceError `OPERATION_NOT_FOUND`, `ID_INVALID`, when the first value is asked for.
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
   * Operations, the newest first.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ID_INVALID` (the cursor).
   */
  async list(filter: OperationFilter = {}, page: OperationPageRequest = {}): Promise<Page<Operation>> {
    const { limit, cursor } = resolveOptions<{ limit: number; cursor?: string }>(
      PAGE_SPEC as never,
      page as never,
    );
    return this.#parts.options.store.views.list(filter, limit, cursor);
  }

  /** How many there are. Those that have ended are counted one by one: not for every second. */
  counts(): Promise<OperationCounts> {
    return this.#parts.options.store.views.counts();
  }

  /** How many have not ended; as cheap as these are few. */
  openCounts(): Promise<OpenCounts> {
    return this.#parts.options.store.views.openCounts();
  }

  /**
   * Ends an operation as FAILED `CANCELLED`; the work behind it is told. One that has ended stays as it is.
   * @param scope - `tenant`: another one's is not found.
   * @returns the operation as it is then.
   * @throws MillraceError `OPERATION_NOT_FOUND`, `ID_INVALID`; what the part throws that the work was handed to, such as
   * `BACKEND_UNAVAILABLE`, or `ROUTE_NOT_FOUND`: the operation is cancelled all the same, and the Finalizer tells that part later.
   */
  async cancel(opId: string, scope: TenantScope = {}): Promise<Operation> {
    const { options, attempts, waits, events } = this.#parts;
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
      events.emit('ended', { operation: answer.operation });
      waits.tell(answer.operation);
      // Whoever runs it has to hear of it, whether or not somebody waits.
      store.notices.tell(id);
    }
    return answer.operation;
  }

  /**
   * When operations like this one end, by those that ended here before.
   * @param operation - its route, and when it was accepted (now unless given).
   */
  estimate(
    operation: Pick<Operation, 'domain' | 'eventType'> & Partial<Pick<Operation, 'acceptedAt'>>,
  ): Estimate {
    const now = this.#parts.options.clock.now();
    const wholeMs = foretellMs(this.#durations.get(routeOf(operation)), DURATION_UNKNOWN_MS);
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

/** What a reader of changes would call a change; a lease that was extended is none. */
const changeKey = ({ state, attempts, refusals, dueAt, backing, owner }: Operation): string =>
  [state, attempts, refusals, dueAt?.getTime(), backing?.ref, owner].join('|');
