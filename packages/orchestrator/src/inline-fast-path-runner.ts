import {
  ERRORS as FOUNDATION_ERRORS,
  MillraceError,
  NO_TENANT,
  printable,
  TIMED_OUT,
  traceIdOf,
  withDeadline,
} from '@millrace/foundation';
import { type CheckedCommand, checkCommand, routeOf } from './check-command.js';
import { ERRORS } from './errors.js';
import {
  type Command,
  type CommandInput,
  Envelope,
  type NewOperation,
  type Operation,
  operationFields,
  type RouteTraits,
} from './model.js';
import { NearBudgetLog } from './near-budget-log.js';
import { OpId } from './op-id.js';
import type { OrchestratorOptions, ResolvedOrchestratorOptions } from './options.js';
import { OperationHandle, type Orchestrator, type SubmitOptions } from './orchestrator.js';
import { type OrchestratorParts, openParts } from './parts.js';
import type { AcceptAnswer } from './ports.js';
import { isTerminal } from './states.js';

const TENANT = /^[A-Za-z0-9._:-]{0,128}$/;
/** The `retryAfterMs` of a rejection for a temporary reason. */
const REFUSED_RETRY_MS = 1_000;
/** Label of routes that do not exist: callers choose their names and must not choose labels of metrics. */
const UNKNOWN_ROUTE = 'unknown';

/** A call of `submit` in progress. */
interface Call {
  readonly route: string;
  readonly budgetMs: number;
  /** Its start on the monotonic clock. */
  readonly calledAt: number;
  readonly envelope: Envelope;
  readonly bodyHash: string;
  readonly traits: RouteTraits;
}

/**
 * Runs a command and returns its outcome if it ends within the budget, else a status URL. The operation is stored before
 * its work begins. All state is in the store, so any number of instances can share one.
 */
export class InlineFastPathRunner implements Orchestrator {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #parts: OrchestratorParts;
  readonly #budgets: NearBudgetLog;

  /**
   * @param options - `executor` and `store` are required.
   * @param parts - the parts of a larger orchestrator (its own).
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  constructor(options: OrchestratorOptions, parts: OrchestratorParts = openParts(options)) {
    this.#options = parts.options;
    this.#parts = parts;
    this.#budgets = new NearBudgetLog(parts.options, parts.events);
  }

  async submit(
    input: CommandInput,
    timeBudgetMs?: number,
    { tenant = NO_TENANT, traceparent }: SubmitOptions = {},
  ): Promise<OperationHandle> {
    const { clock, rng, payloadBytesMax, timeBudget } = this.#options;
    const calledAt = clock.monotonicMs();
    if (this.#parts.waits.isStopped)
      throw ERRORS.create('ORCHESTRATOR_STOPPING', {}, { retryAfterMs: REFUSED_RETRY_MS });
    const budgetMs = this.#checkBudget(timeBudgetMs ?? timeBudget.defaultMs);
    requireTenant(tenant);
    const opId = OpId.next(clock, rng);
    const { command, bodyHash }: CheckedCommand = checkCommand(input, () => opId, payloadBytesMax);
    const traits = this.#traits(command);
    const route = routeOf(command);
    this.#parts.events.emit('submitted', { route });
    try {
      const envelope = Envelope.now(opId, command, { tenant, traceparent: traceOf(traceparent), clock });
      this.#admit(route, envelope);
      return await this.#run({ route, budgetMs, calledAt, envelope, bodyHash, traits });
    } catch (error) {
      if (error instanceof MillraceError) this.#parts.events.emit('refused', { route, code: error.code });
      throw error;
    }
  }

  /** Answers waiting callers with the status URL, then ends the attempts. */
  async stop(): Promise<void> {
    await this.#parts.stop();
  }

  async #run(call: Call): Promise<OperationHandle> {
    const { opId } = call.envelope;
    const accepted = await this.#accept(call);
    if (accepted.kind !== 'accepted') this.#options.executor.withdraw?.(opId);
    if (accepted.kind === 'conflict') {
      const { idemKey } = call.envelope.command;
      throw ERRORS.create('IDEMPOTENCY_CONFLICT', { idemKey, opId: accepted.opId });
    }
    if (accepted.kind === 'known') return this.#attach(call, accepted.operation);
    const { logger } = this.#options;
    const { envelope, traits, route } = call;
    logger.info(this.#fields(call), 'Operation accepted');
    this.#parts.events.emit('accepted', { route, opId, tenant: envelope.tenant });
    this.#budgets.open(opId, call);
    // Before the attempt begins, so that its end cannot be missed.
    const ended = this.#parts.waits.forEnd(opId, this.#leftMs(call));
    this.#parts.attempts.begin({ opId, token: accepted.token, envelope, traits, attempt: 1, refusals: 0 });
    return this.#answer(call, opId, await ended);
  }

  /** Returns the outcome of the operation that has the key, or waits for it. */
  async #attach(call: Call, operation: Operation): Promise<OperationHandle> {
    const { idempotency } = this.#options;
    const { opId } = operation;
    if (isTerminal(operation.state)) return this.#answer(call, opId, operation);
    if (idempotency === 'strict') throw ERRORS.create('OPERATION_RUNNING', { opId });
    const ended = this.#parts.waits.forEnd(opId, this.#leftMs(call));
    this.#parts.waits.look(opId);
    return this.#answer(call, opId, await ended);
  }

  /** The time at which the end is seen counts. An end at exactly the budget is late. */
  #answer(call: Call, opId: OpId, ended: Operation | undefined): OperationHandle {
    const { clock, logger, statusBasePath } = this.#options;
    const { route, budgetMs, calledAt } = call;
    const elapsedMs = clock.monotonicMs() - calledAt;
    if (ended?.outcome && elapsedMs < budgetMs) {
      logger.info({ ...this.#fields(call), opId, elapsedMs }, 'Operation answered with its outcome');
      this.#parts.events.emit('fast', { route, opId, elapsedMs });
      return OperationHandle.completed(opId, ended.outcome);
    }
    logger.info({ ...this.#fields(call), opId, elapsedMs }, 'Operation answered with its status URL');
    this.#parts.events.emit('converted', { route, opId, elapsedMs });
    return OperationHandle.async(opId, `${statusBasePath}/${opId}/status`);
  }

  async #accept(call: Call): Promise<AcceptAnswer> {
    const { clock, store, owner, leaseMs, idempotencyTtlMs, executor } = this.#options;
    const { envelope, traits, bodyHash } = call;
    const operation: NewOperation = {
      envelope,
      traits,
      bodyHash,
      owner,
      leaseMs,
      keyTtlMs: idempotencyTtlMs,
    };
    const leftMs = Math.max(1, this.#leftMs(call));
    const storing = store.runs.accept(operation, leftMs);
    try {
      const answer = await withDeadline(clock, leftMs, storing);
      if (answer !== TIMED_OUT) return answer;
    } catch (error) {
      executor.withdraw?.(envelope.opId);
      if (ERRORS.is(error, 'STORE_FULL')) throw error;
      this.#parts.unconfirmed.add(envelope, traits);
      throw this.#unconfirmed(call, error);
    }
    storing.then(
      (answer) => this.#acceptedLate(call, answer),
      () => {
        executor.withdraw?.(envelope.opId);
        this.#parts.unconfirmed.add(envelope, traits);
      },
    );
    throw this.#unconfirmed(call);
  }

  /** Runs a stored operation whose caller does not wait any more. */
  #acceptedLate({ envelope, traits }: Call, answer: AcceptAnswer): void {
    const { opId } = envelope;
    if (answer.kind !== 'accepted') this.#options.executor.withdraw?.(opId);
    else this.#parts.attempts.begin({ opId, token: answer.token, envelope, traits, attempt: 1, refusals: 0 });
  }

  #unconfirmed({ calledAt }: Call, cause?: unknown): MillraceError {
    const waitedMs = Math.round(this.#options.clock.monotonicMs() - calledAt);
    return ERRORS.create('STORE_UNAVAILABLE', { waitedMs }, { cause, retryAfterMs: REFUSED_RETRY_MS });
  }

  #traits(command: Command): RouteTraits {
    try {
      return this.#options.executor.traits?.(command) ?? this.#parts.defaultTraits;
    } catch (error) {
      if (error instanceof MillraceError)
        this.#parts.events.emit('refused', { route: UNKNOWN_ROUTE, code: error.code });
      throw error;
    }
  }

  #admit(route: string, envelope: Envelope): void {
    const refusal = this.#options.executor.admit?.(envelope);
    if (!refusal) return;
    const { reason, retryAfterMs } = refusal;
    throw ERRORS.create(reason, { route, retryAfterMs }, { retryAfterMs });
  }

  #checkBudget(given: number): number {
    const { minMs, maxMs } = this.#options.timeBudget;
    if (Number.isFinite(given) && given >= minMs && given <= maxMs) return given;
    throw ERRORS.create('TIME_BUDGET_OUT_OF_RANGE', { minMs, maxMs, given });
  }

  #leftMs({ calledAt, budgetMs }: Call): number {
    return budgetMs - (this.#options.clock.monotonicMs() - calledAt);
  }

  #fields({ envelope }: Call): object {
    const { command, tenant } = envelope;
    const { domain, eventType, bizKey } = command;
    return {
      ...operationFields(envelope),
      domain,
      eventType,
      bizKey,
      ...(tenant !== NO_TENANT && { tenant }),
    };
  }
}

/** The rule is the same in all parts that work can be handed over to. */
function requireTenant(tenant: unknown): void {
  if (typeof tenant === 'string' && TENANT.test(tenant)) return;
  const expected = 'at most 128 characters of A–Z, a–z, 0–9 and ._:-';
  throw FOUNDATION_ERRORS.create('ID_INVALID', { kind: 'tenant', expected, given: printable(tenant) });
}

/** Ignores an invalid trace context: it comes from outside, and work must not fail because of it. */
const traceOf = (traceparent: string | undefined): string | undefined =>
  traceIdOf(traceparent) === undefined ? undefined : traceparent;
