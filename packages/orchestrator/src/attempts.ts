import { type CancelTimer, sleep, TIMED_OUT, toWorkError, withDeadline } from '@millrace/foundation';
import { routeOf } from './check-command.js';
import { ERRORS } from './errors.js';
import type { OrchestratorEvents } from './events.js';
import { fitOutcome } from './fit-outcome.js';
import { type HeldRun, HeldRuns, instanceEnds } from './held-runs.js';
import type { Operation, OwnedOperation, RunRef } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';
import { Outcome, type RetryOutcome } from './outcome.js';
import type { ExecuteAnswer, Settlement } from './ports.js';
import { endingOf, judgeOutcome } from './rules/judge-outcome.js';
import { operationFields } from './rules/log-fields.js';
import { isTerminal } from './states.js';

/** Told of what became of operations that ran here. */
export interface AttemptListener {
  /** A try is known to the store as begun. */
  onBegun(opId: OpId): void;
  /** It ended. `waited`: another instance waits for news. */
  onEnded(operation: Operation, waited: boolean): void;
  /** It goes on elsewhere, or later: without an owner, or with work behind it. */
  onLeft(opId: OpId, settlement: Settlement): void;
}

/** A short operation never shows IN_PROGRESS to anybody: its beginning and its end are one write. */
const BEGIN_DELAY_MS = 25;
/** The executor should only take the work. */
const ACCEPT_SLOW_MS = 50;
const PAUSE_FIRST_MS = 20;
const PAUSE_MAX_MS = 1_000;
/** The part of the grace period in which what was told to stop may do so. */
const STOPPING_SHARE = 0.2;

/** Tries of operations that this instance owns: begins them, keeps their leases, writes what came of them. */
export class Attempts {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #events: OrchestratorEvents;
  readonly #listener: AttemptListener;
  readonly #held: HeldRuns;
  readonly #begun = new Map<OpId, RunRef>();
  #beginTimer: CancelTimer | undefined;
  #pollTimer: CancelTimer | undefined;
  readonly #stopped = new AbortController();

  constructor(options: ResolvedOrchestratorOptions, events: OrchestratorEvents, listener: AttemptListener) {
    this.#options = options;
    this.#events = events;
    this.#listener = listener;
    this.#held = new HeldRuns(options);
  }

  /** Whether a try of this operation runs here. */
  holds(opId: OpId): boolean {
    return this.#held.get(opId) !== undefined;
  }

  /**
   * Begins a try; returns at once.
   * @param operation - owned by this instance.
   * @param onEnd - called when nothing of the try is left here.
   */
  begin(operation: OwnedOperation, onEnd: () => void = () => {}): void {
    const { store } = this.#options;
    if (this.#stopped.signal.aborted) {
      // Accepted while the instance ended: another one takes it at once, or after its lease if the store is gone as well.
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
   * What the executor says came of a try.
   * @returns false when no try of this operation runs here.
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
    // A hand-over that was tried for the last time may have happened all the same, its answer lost.
    if (fitted.type === 'Retry' && settlement.kind === 'final' && traits.kind !== 'inline')
      void this.#callOff(run).then(() => this.#settle(run, settlement));
    else void this.#settle(run, settlement);
    return true;
  }

  /** Somebody else decided what comes of an operation: its try, if one runs here, is told to stop. */
  abort(opId: OpId, reason?: unknown): void {
    this.#held.abort(opId, reason);
  }

  /** Something became of an operation elsewhere: if a try runs here, is it still ours? */
  check(opId: OpId): void {
    this.#held.check(opId);
  }

  /** Lets tries end within the grace period, then tells them to stop and gives back what is left. */
  async stop(): Promise<void> {
    const { clock, gracePeriodMs, logger } = this.#options;
    if ((await withDeadline(clock, gracePeriodMs * (1 - STOPPING_SHARE), this.#held.idle())) === TIMED_OUT) {
      const reason = instanceEnds();
      for (const run of this.#held.all()) run.controller.abort(reason);
      const halfMs = (gracePeriodMs * STOPPING_SHARE) / 2;
      if ((await withDeadline(clock, halfMs, this.#held.idle())) === TIMED_OUT)
        await withDeadline(clock, halfMs, this.#giveBack());
      if (this.#held.size > 0)
        logger.warn(
          { operations: this.#held.size },
          'Operations could not be given back; their leases will end',
        );
    }
    this.#stopped.abort();
    this.#beginTimer?.();
    this.#pollTimer?.();
    for (const run of this.#held.all()) this.#held.release(run);
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
        logger.warn({ ...this.#fields(run), tookMs }, 'The executor took long to accept an operation');
      this.#taken(run, answer ?? undefined);
    } catch (error) {
      const { message, cause } = toWorkError(error);
      const failure = ERRORS.create('EXECUTOR_FAILED', { reason: message }, { cause });
      logger.error({ ...this.#fields(run), reason: message }, 'The executor failed');
      void this.#settle(run, { kind: 'final', ...endingOf(Outcome.fail(failure.code, failure.message)) });
    }
  }

  #taken(run: HeldRun, answer: ExecuteAnswer): void {
    if (answer && 'refused' in answer) this.#refused(run, answer.refused);
    else if (answer) void this.#settle(run, { kind: 'backed', backing: answer.backing });
    else if (!this.#options.executor.onSettled) this.#pollTimer ??= this.#pollLater();
  }

  /** No try began, so none is counted. */
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
        'Work that may have been handed over could not be called off',
      );
    }
  }

  /** The first settlement counts: a work that ended before its hand-over was written has ended. */
  async #settle(run: HeldRun, settlement: Settlement): Promise<void> {
    if (run.settling || this.#held.get(run.operation.opId) !== run) return;
    run.settling = true;
    const { opId, token } = run.operation;
    this.#begun.delete(opId);
    const answer = await this.#write({ opId, token }, settlement, run);
    this.#held.release(run);
    if (!answer) return;
    if (answer.operation && isTerminal(answer.operation.state)) {
      const waited = answer.kind === 'settled' && answer.waited;
      if (answer.kind === 'settled') this.#events.emit('ended', { operation: answer.operation });
      this.#listener.onEnded(answer.operation, waited);
    } else this.#listener.onLeft(opId, settlement);
  }

  /** Until the store has it, or the lease is lost. What is not written then is decided by whoever comes after. */
  async #write(ref: RunRef, settlement: Settlement, run: HeldRun) {
    const { store, clock, logger } = this.#options;
    for (let pauseMs = PAUSE_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      try {
        return await store.runs.settle(ref, settlement);
      } catch (error) {
        logger.warn(
          { ...this.#fields(run), reason: String(error) },
          'What came of an operation is not written yet',
        );
        if (!(await sleep(clock, pauseMs, this.#stopped.signal))) return undefined;
      }
    }
  }

  /** At most once means: what may have happened is not done again, so its end is written by whoever knows that it is over. */
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
            logger.debug({ reason: String(error) }, 'Beginnings were not written; their ends will be'),
        );
      },
      { unref: true },
    );
  }

  #pollLater(): CancelTimer {
    const { clock, pollingIntervalMs } = this.#options;
    return clock.setTimer(pollingIntervalMs, () => void this.#poll(), { unref: true });
  }

  /** For executors that tell nothing. */
  async #poll(): Promise<void> {
    const { executor, logger } = this.#options;
    const running = this.#held.all().filter(({ settling }) => !settling);
    await Promise.all(
      running.map(async (run) => {
        const { opId } = run.operation;
        try {
          if (isTerminal(await executor.getState(opId))) this.settled(opId, await executor.getOutcome(opId));
        } catch (error) {
          logger.debug({ ...this.#fields(run), reason: String(error) }, 'The executor was asked in vain');
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
