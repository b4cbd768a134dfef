import {
  type Clock,
  type Logger,
  type OptionSpec,
  objectOption,
  type PartialOptions,
  type Rng,
  resolveOptions,
  silentLogger,
  systemClock,
  systemRng,
  toWorkError,
} from '@millrace/foundation';
import { routeOf } from './check-command.js';
import { defineRoutes } from './define-routes.js';
import { ERRORS } from './errors.js';
import type { Command, Envelope, RouteTraits } from './model.js';
import type { OpId } from './op-id.js';
import { ATTEMPT_DEFAULTS, ATTEMPT_RULES, type AttemptOptions } from './options.js';
import { Outcome, type RetryOutcome } from './outcome.js';
import type { Attempt, BackingPort, ExecuteAnswer, Executor, Refusal, SettledListener } from './ports.js';
import { PreparedRoute } from './prepared-route.js';
import type { Permit, ProtectionState } from './protection/protection.js';
import type { BackingAdapter, Routes } from './routes.js';
import { outcomeOfError } from './rules/outcomes.js';
import { type InlineAttempt, RunInline } from './run-inline.js';
import type { OperationState } from './states.js';

/** Options of a RouteExecutor. `routes` is required. */
export type RouteExecutorOptions = PartialOptions<AttemptOptions> & {
  /** Routes by `DOMAIN.EVENT_TYPE`, checked by `defineRoutes` or not. */
  readonly routes: Routes;
  /** Adapters that commands can be handed over to, such as `BulkBacking` and `BatchBacking` (none). */
  readonly backings?: readonly BackingAdapter[] | undefined;
  readonly clock?: Clock | undefined;
  readonly rng?: Rng | undefined;
  readonly logger?: Logger | undefined;
};

/** The latest attempt of an operation. */
interface KnownAttempt {
  readonly state: OperationState;
  readonly outcome?: Outcome;
}

/** Number of ended attempts whose outcome is kept for `getOutcome`. */
const ENDED_KEPT = 1_000;

const SPEC: OptionSpec<AttemptOptions & Required<Pick<RouteExecutorOptions, 'clock' | 'rng' | 'logger'>>> = {
  owner: 'RouteExecutor',
  defaults: { ...ATTEMPT_DEFAULTS, clock: systemClock, logger: silentLogger },
  rules: {
    ...ATTEMPT_RULES,
    clock: objectOption('a Clock', 'now', 'monotonicMs', 'setTimer'),
    rng: objectOption('an Rng', 'next', 'integer'),
    logger: objectOption('a Logger', 'debug', 'info', 'warn', 'error', 'child'),
  },
};

/** Does the work of commands by their routes: in this process, or by handing it over to another part. */
export class RouteExecutor implements Executor {
  readonly backings: ReadonlyMap<string, BackingPort>;
  readonly routeNames: readonly string[];
  readonly #routes: ReadonlyMap<string, PreparedRoute>;
  readonly #runInline: RunInline;
  readonly #permits = new Map<OpId, Permit>();
  readonly #attempts = new Map<OpId, KnownAttempt>();
  readonly #ended: OpId[] = [];
  readonly #listeners = new Set<SettledListener>();
  readonly #unlisten: (() => void)[] = [];

  /** @throws MillraceError `ROUTE_INVALID`, `OPTION_INVALID`, `OPTION_UNKNOWN`. */
  constructor({ routes, backings = [], ...given }: RouteExecutorOptions) {
    const options = resolveOptions(
      SPEC as never,
      { ...given, rng: given.rng ?? systemRng() } as never,
    ) as AttemptOptions & {
      readonly clock: Clock;
      readonly rng: Rng;
      readonly logger: Logger;
    };
    const adapters = new Map(backings.map((adapter) => [adapter.kind, adapter]));
    this.backings = adapters;
    this.#routes = new Map(
      Object.entries(defineRoutes(routes)).map(([name, route]) => [
        name,
        new PreparedRoute({ name, route, adapter: adapters.get(route.kind), ...options }),
      ]),
    );
    this.routeNames = [...this.#routes.keys()];
    this.#runInline = new RunInline(options.logger);
    for (const adapter of backings) {
      const unlisten = adapter.onSettled?.((opId, outcome) => this.#tell(opId, outcome));
      if (unlisten) this.#unlisten.push(unlisten);
    }
  }

  traits(command: Pick<Command, 'domain' | 'eventType'>): RouteTraits {
    return this.#route(command).traits;
  }

  /** Rejects commands only on routes with `onRefused: 'reject'`. */
  admit(envelope: Envelope): Refusal | undefined {
    const { protection, onRefused } = this.#route(envelope.command);
    if (onRefused !== 'reject') return undefined;
    const admission = protection.admit();
    if ('refusal' in admission) return admission.refusal;
    this.#permits.set(envelope.opId, admission.permit);
    return undefined;
  }

  withdraw(opId: OpId): void {
    const permit = this.#permits.get(opId);
    if (!permit) return;
    this.#permits.delete(opId);
    for (const { protection } of this.#routes.values()) protection.withdraw(permit);
  }

  async execute(envelope: Envelope, attempt: Attempt): Promise<ExecuteAnswer> {
    const { opId } = envelope;
    const route = this.#route(envelope.command);
    const admission = this.#admission(route, opId);
    if ('refusal' in admission) return { refused: refusedAttempt(admission.refusal, route, attempt) };
    this.#note(opId, { state: 'IN_PROGRESS' });
    if (route.kind === 'inline') {
      void this.#runHere({ route, envelope, attempt, permit: admission.permit });
      return undefined;
    }
    return this.#handOver(route, envelope, attempt, admission.permit);
  }

  getState(opId: OpId): OperationState {
    return this.#known(opId).state;
  }

  getOutcome(opId: OpId): Outcome {
    const { state, outcome } = this.#known(opId);
    if (!outcome) throw ERRORS.create('OPERATION_NOT_TERMINAL', { opId, state });
    return outcome;
  }

  onSettled(listener: SettledListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Returns the states of all protections, by the names of the routes. */
  protections(): Readonly<Record<string, ProtectionState>> {
    const states: Record<string, ProtectionState> = {};
    for (const [name, { protection }] of this.#routes) states[name] = protection.state();
    return states;
  }

  /** Ends the subscriptions to the adapters. */
  close(): void {
    for (const end of this.#unlisten.splice(0)) end();
  }

  /** Catches every error as the end of one attempt. An unhandled one would end the process. */
  async #runHere(inlineAttempt: InlineAttempt): Promise<void> {
    const { route, attempt, envelope } = inlineAttempt;
    const { opId } = envelope;
    try {
      const end = await this.#runInline.run(inlineAttempt);
      if (end === 'stopped') this.#attempts.delete(opId);
      else if (end === 'not begun') this.#settle(opId, neverBegan(route, attempt), true);
      else this.#settle(opId, end);
    } catch (error) {
      const { code, message } = ERRORS.create('EXECUTOR_FAILED', { reason: toWorkError(error).message });
      this.#settle(opId, Outcome.fail(code, message));
    }
  }

  async #handOver(
    route: PreparedRoute,
    envelope: Envelope,
    attempt: Attempt,
    permit: Permit,
  ): Promise<ExecuteAnswer> {
    const { opId } = envelope;
    try {
      const end = await route.protection.run(permit, () => route.submit(envelope), {
        signal: attempt.signal,
        isFailure: () => false,
      });
      if (end.kind === 'done') {
        // Its adapter knows the work from now on.
        this.#attempts.delete(opId);
        return { backing: end.value };
      }
      if (!end.began) {
        this.#attempts.delete(opId);
        return { refused: neverBegan(route, attempt) };
      }
      this.#settle(opId, route.timedOut(attempt.attempt));
    } catch (error) {
      if (attempt.signal.aborted) {
        this.#attempts.delete(opId);
        return undefined;
      }
      this.#settle(
        opId,
        outcomeOfError(error, attempt.attempt, () => route.delayMs(attempt.attempt, error)),
      );
    }
    return undefined;
  }

  #admission(route: PreparedRoute, opId: OpId) {
    const permit = this.#permits.get(opId);
    this.#permits.delete(opId);
    return permit ? { permit } : route.protection.admit();
  }

  #settle(opId: OpId, outcome: Outcome, refused = false): void {
    this.#note(opId, { state: outcome.type === 'Ok' ? 'COMPLETED' : 'FAILED', outcome });
    this.#ended.push(opId);
    if (this.#ended.length > ENDED_KEPT) this.#forget(this.#ended.shift() as OpId);
    this.#tell(opId, outcome, refused);
  }

  #forget(opId: OpId): void {
    // A later attempt of the same operation may run.
    if (this.#attempts.get(opId)?.outcome) this.#attempts.delete(opId);
  }

  #note(opId: OpId, known: KnownAttempt): void {
    this.#attempts.set(opId, known);
  }

  #tell(opId: OpId, outcome: Outcome, refused = false): void {
    for (const listener of this.#listeners) listener(opId, outcome, refused);
  }

  #known(opId: OpId): KnownAttempt {
    const known = this.#attempts.get(opId);
    if (!known) throw ERRORS.create('OPERATION_NOT_FOUND', { opId });
    return known;
  }

  #route(command: Pick<Command, 'domain' | 'eventType'>): PreparedRoute {
    const name = routeOf(command);
    const route = this.#routes.get(name);
    if (route) return route;
    const known = this.routeNames.slice(0, 20).join(', ') || 'none';
    throw ERRORS.create('ROUTE_NOT_FOUND', { route: name, known });
  }
}

/** Makes the outcome of work that did not begin. The delay grows with each refusal and is spread. */
function refusedAttempt(
  { reason, retryAfterMs }: { readonly reason: string; readonly retryAfterMs: number },
  route: PreparedRoute,
  { attempt, refusals }: Attempt,
): RetryOutcome {
  const nextRetryAfterMs = Math.max(
    route.refusedDelayMs(retryAfterMs),
    route.delayMs(refusals + 1, undefined),
  );
  return Outcome.retry({ reason, attemptCount: attempt, nextRetryAfterMs });
}

/** Makes the outcome of a call that timed out in the queue, which is a late refusal. */
const neverBegan = (route: PreparedRoute, attempt: Attempt): RetryOutcome =>
  refusedAttempt({ reason: 'TIMEOUT', retryAfterMs: 0 }, route, attempt);
