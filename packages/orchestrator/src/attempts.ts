import {
  backoffMs,
  type CancelTimer,
  ERRORS as FOUNDATION_ERRORS,
  HeldLeases,
  sleep,
  TIMED_OUT,
  toWorkError,
  withDeadline,
} from '@millrace/foundation';
import { routeOf } from './check-command.js';
import { ERRORS } from './errors.js';
import { type OwnedOperation, operationFields, type RunRef, type Settlement } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import { Outcome, type RetryOutcome } from './outcome.js';
import type { ExecuteAnswer, SettleAnswer } from './ports.js';
import { endingOf, fitOutcome, judgeOutcome } from './rules/outcomes.js';
import { isTerminal } from './states.js';

/** Called with the progress of operations that ran here. */
export interface AttemptListener {
  /** The store knows that an attempt has begun. */
  onBegun(opId: OpId): void;
  /** The operation ended, here or before on another instance. */
  onEnded(answer: SettleAnswer): void;
  /** The operation continues without this instance: it has no owner, or a backing. */
  onLeft(opId: OpId, settlement: Settlement): void;
}

/** An attempt that runs here. */
interface HeldRun {
  readonly operation: OwnedOperation;
  readonly controller: AbortController;
  /** True if its outcome is known and being written. */
  settling: boolean;
  /** Called when nothing of the attempt is left here. */
  readonly onEnd: () => void;
}

/** A short operation never shows IN_PROGRESS: its start and its end are one write. */
const BEGIN_DELAY_MS = 25;
/** The executor should only accept the work. */
const ACCEPT_SLOW_MS = 50;
/** Pauses between writes of an outcome that fail. */
const WRITE_RETRY = { strategy: 'exponential', baseMs: 20, maxMs: 1_000 } as const;
/** The share of the grace period in which aborted attempts may end. */
const STOPPING_SHARE = 0.2;

/** The reason with which an attempt is aborted. */
const LEASE_LOST = new Error('Lost the lease of the operation; another instance may be running it');

/** The attempts of operations that this instance owns. Begins them, extends their leases, writes their outcomes. */
export class Attempts {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #listener: AttemptListener;
  readonly #held: HeldLeases<OpId, HeldRun>;
  readonly #begun = new Map<OpId, RunRef>();
  #beginTimer: CancelTimer | undefined;
  #pollTimer: CancelTimer | undefined;
  readonly #stopped = new AbortController();

  constructor(options: ResolvedOrchestratorOptions, listener: AttemptListener) {
    this.#options = options;
    this.#listener = listener;
    const { store, clock, logger, heartbeatMs, leaseMs } = options;
    this.#held = new HeldLeases({
      clock,
      logger,
      everyMs: heartbeatMs,
      leaseMs,
      keyOf: ({ operation }) => operation.opId,
      async extend(runs) {
        const refs = runs.map(({ operation: { opId, token } }) => ({ opId, token }));
        const lost = await store.runs.extend(refs, leaseMs);
        return runs.filter(({ operation }) => lost.has(operation.opId));
      },
      onLost: (run) => this.#abort(run, LEASE_LOST),
      isSettling: ({ settling }) => settling,
    });
  }

  /** Reports whether an attempt of this operation runs here. */
  holds(opId: OpId): boolean {
    return this.#held.get(opId) !== undefined;
  }

  /**
   * Begins an attempt. Returns at once.
   * @param operation - owned by this instance.
   * @param onEnd - called when nothing of the attempt is left here.
   */
  begin(operation: OwnedOperation, onEnd: () => void = () => {}): void {
    const { store } = this.#options;
    if (this.#stopped.signal.aborted) {
      // Accepted while this instance stopped. Another one claims it now, or after its lease if this write fails.
      const { opId, token } = operation;
      store.runs.settle({ opId, token }, { kind: 'released' }).catch(() => {});
      onEnd();
      return;
    }
    const run: HeldRun = {
      operation,
      controller: new AbortController(),
      settling: false,
      onEnd,
    };
    this.#held.hold(run);
    if (operation.attempt === 1) this.#beginSoon(operation);
    else this.#listener.onBegun(operation.opId);
    void this.#execute(run);
  }

  /**
   * Settles an attempt with the outcome that the executor reports.
   * @returns false if no attempt of this operation runs here.
   */
  settled(opId: OpId, outcome: Outcome, refused = false): boolean {
    const run = this.#held.get(opId);
    if (!run) return false;
    if (refused && outcome.type === 'Retry') {
      this.#refused(run, outcome);
      return true;
    }
    const { attempt, traits } = run.operation;
    const fitted = fitOutcome(outcome, this.#options.outcomeBytesMax);
    const settlement = judgeOutcome(fitted, attempt, traits.attemptsMax);
    // The last attempt to submit may have succeeded with its response lost.
    if (fitted.type === 'Retry' && settlement.kind === 'final' && traits.kind !== 'inline')
      void this.#callOff(run).then(() => this.#settle(run, settlement));
    else void this.#settle(run, settlement);
    return true;
  }

  /** Aborts the attempt of an operation that ended elsewhere, if one runs here. */
  abort(opId: OpId, reason: unknown = LEASE_LOST): void {
    const run = this.#held.get(opId);
    if (run) this.#abort(run, reason);
  }

  /** Checks the leases if an attempt of this operation runs here. Call it when the operation changed elsewhere. */
  check(opId: OpId): void {
    if (this.#held.get(opId)) void this.#held.check();
  }

  /** Waits for attempts within the grace period, then aborts them and releases those that are left. */
  async stop(): Promise<void> {
    const { clock, gracePeriodMs, logger } = this.#options;
    if ((await withDeadline(clock, gracePeriodMs * (1 - STOPPING_SHARE), this.#held.idle())) === TIMED_OUT) {
      const reason = FOUNDATION_ERRORS.create('SERVICE_STOPPED', { service: 'The orchestrator' });
      for (const run of this.#held.all()) run.controller.abort(reason);
      const halfMs = (gracePeriodMs * STOPPING_SHARE) / 2;
      if ((await withDeadline(clock, halfMs, this.#held.idle())) === TIMED_OUT)
        await withDeadline(clock, halfMs, this.#giveBack());
      if (this.#held.size > 0)
        logger.warn({ operations: this.#held.size }, 'Operations not released; their leases will expire');
    }
    this.#stopped.abort();
    this.#beginTimer?.();
    this.#pollTimer?.();
    for (const run of this.#held.all()) this.#release(run);
  }

  #abort(run: HeldRun, reason: unknown): void {
    run.controller.abort(reason);
    this.#release(run);
  }

  #release(run: HeldRun): void {
    if (this.#held.release(run)) run.onEnd();
  }

  async #execute(run: HeldRun): Promise<void> {
    const { executor, clock, logger } = this.#options;
    const { envelope, attempt, refusals, traits } = run.operation;
    const { signal } = run.controller;
    try {
      const asked = clock.monotonicMs();
      const answer = await executor.execute(envelope, {
        attempt,
        attemptsMax: traits.attemptsMax,
        refusals,
        signal,
      });
      const tookMs = clock.monotonicMs() - asked;
      if (tookMs > ACCEPT_SLOW_MS)
        logger.warn({ ...this.#fields(run), tookMs }, 'Executor was slow to accept an operation');
      this.#taken(run, answer ?? undefined);
    } catch (error) {
      const { message, cause } = toWorkError(error);
      const failure = ERRORS.create('EXECUTOR_FAILED', { reason: message }, { cause });
      logger.error({ ...this.#fields(run), reason: message }, 'Executor failed');
      void this.#settle(run, { kind: 'final', ...endingOf(Outcome.fail(failure.code, failure.message)) });
    }
  }

  #taken(run: HeldRun, answer: ExecuteAnswer): void {
    if (answer && 'refused' in answer) this.#refused(run, answer.refused);
    else if (answer) void this.#settle(run, { kind: 'backed', backing: answer.backing });
    else if (!this.#options.executor.onSettled) this.#pollTimer ??= this.#pollLater();
  }

  /** No attempt began, so none is counted. */
  #refused(run: HeldRun, outcome: RetryOutcome): void {
    const isLast = run.operation.refusals + 1 >= this.#options.refusalsMax;
    const settlement: Settlement = isLast
      ? { kind: 'final', ...endingOf(outcome) }
      : { kind: 'retry', outcome, delayMs: outcome.nextRetryAfterMs, refused: true };
    void this.#settle(run, settlement);
  }

  async #callOff({ operation: { opId, envelope, traits } }: HeldRun): Promise<void> {
    const { executor, logger } = this.#options;
    const { tenant, command } = envelope;
    const { domain, eventType } = command;
    try {
      await executor.backings?.get(traits.kind)?.cancel({ opId, tenant, domain, eventType });
    } catch (error) {
      logger.warn(
        { ...operationFields(envelope), reason: String(error) },
        'Backing not cancelled; submitted work may still run',
      );
    }
  }

  /** Only the first settlement counts: work that ended before its backing was stored has ended. */
  async #settle(run: HeldRun, settlement: Settlement): Promise<void> {
    if (run.settling || this.#held.get(run.operation.opId) !== run) return;
    run.settling = true;
    const { opId, token } = run.operation;
    this.#begun.delete(opId);
    const answer = await this.#write({ opId, token }, settlement, run);
    this.#release(run);
    if (!answer) return;
    if (answer.operation && isTerminal(answer.operation.state)) this.#listener.onEnded(answer);
    else this.#listener.onLeft(opId, settlement);
  }

  /** Retries until the store has the settlement, or this instance stops. The next owner decides what was not written. */
  async #write(ref: RunRef, settlement: Settlement, run: HeldRun) {
    const { store, clock, logger } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await store.runs.settle(ref, settlement);
      } catch (error) {
        logger.warn({ ...this.#fields(run), reason: String(error) }, 'Outcome not stored, will retry');
        const pauseMs = backoffMs({ ...WRITE_RETRY, attempt });
        if (!(await sleep(clock, pauseMs, this.#stopped.signal))) return undefined;
      }
    }
  }

  /** Releases attempts. `onLost: 'fail'` ends them instead: what may have run must not run again. */
  async #giveBack(): Promise<void> {
    const lost = ERRORS.create('OPERATION_LOST', { why: 'its instance was stopped' });
    await Promise.all(
      this.#held
        .all()
        .map((run) =>
          this.#settle(
            run,
            run.operation.traits.onLost === 'fail'
              ? { kind: 'final', ...endingOf(Outcome.fail(lost.code, lost.message)) }
              : { kind: 'released' },
          ),
        ),
    );
  }

  #beginSoon({ opId, token }: RunRef): void {
    const { clock, store, logger } = this.#options;
    this.#begun.set(opId, { opId, token });
    this.#beginTimer ??= clock.setTimer(
      BEGIN_DELAY_MS,
      () => {
        this.#beginTimer = undefined;
        const refs = [...this.#begun.values()];
        this.#begun.clear();
        if (refs.length === 0) return;
        store.runs.begin(refs).then(
          () => {
            for (const { opId: begun } of refs) this.#listener.onBegun(begun);
          },
          (error: unknown) =>
            logger.debug(
              { reason: String(error) },
              'Attempt starts not stored; outcomes will still be stored',
            ),
        );
      },
      { unref: true },
    );
  }

  #pollLater(): CancelTimer {
    const { clock, pollingIntervalMs } = this.#options;
    return clock.setTimer(pollingIntervalMs, () => void this.#poll(), { unref: true });
  }

  /** Polls executors without `onSettled`. */
  async #poll(): Promise<void> {
    const { executor, logger } = this.#options;
    const running = this.#held.all().filter(({ settling }) => !settling);
    await Promise.all(
      running.map(async (run) => {
        const { opId } = run.operation;
        try {
          if (isTerminal(await executor.getState(opId))) this.settled(opId, await executor.getOutcome(opId));
        } catch (error) {
          logger.debug({ ...this.#fields(run), reason: String(error) }, 'Executor poll failed');
        }
      }),
    );
    const isNeeded = this.#held.all().some(({ settling }) => !settling) && !this.#stopped.signal.aborted;
    this.#pollTimer = isNeeded ? this.#pollLater() : undefined;
  }

  #fields({ operation: { envelope } }: HeldRun): object {
    const { domain, eventType, bizKey } = envelope.command;
    const route = routeOf(envelope.command);
    return { ...operationFields(envelope), domain, eventType, bizKey, route };
  }
}
