import { type Logger, toWorkError } from '@millrace/foundation';
import { type Envelope, operationFields } from './model.js';
import { Outcome } from './outcome.js';
import type { Attempt } from './ports.js';
import type { PreparedRoute } from './prepared-route.js';
import type { Permit } from './protection/protection.js';
import type { InlineContext } from './routes.js';
import { outcomeOfError } from './rules/outcomes.js';

/** An attempt of an inline route. */
export interface InlineAttempt {
  readonly route: PreparedRoute;
  readonly envelope: Envelope;
  readonly attempt: Attempt;
  readonly permit: Permit;
}

/** The end of an attempt: an outcome, a timeout before the work began, or an abort, after which others decide. */
export type InlineEnd = Outcome | 'not begun' | 'stopped';

/** A thrown error that is not retryable. The called service is well, so the circuit must not count it. */
class Refused {
  constructor(readonly thrown: unknown) {}
}

/** Runs handlers of inline routes. Never throws. */
export class RunInline {
  readonly #logger: Logger;

  /** @param logger - passed to handlers with the fields of the operation. */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  async run({ route, envelope, attempt, permit }: InlineAttempt): Promise<InlineEnd> {
    const number = attempt.attempt;
    const delayMs = (error: unknown) => route.delayMs(number, error);
    try {
      const end = await route.protection.run<unknown>(
        permit,
        async (signal) => {
          try {
            return await route.handler(envelope.command, this.#context(envelope, attempt, signal));
          } catch (error) {
            if (!toWorkError(error).retryable) return new Refused(error);
            throw error;
          }
        },
        {
          signal: attempt.signal,
          isFailure: (value) => Outcome.is(value) && value.type === 'Retry',
        },
      );
      if (end.kind === 'timeout') return end.began ? route.timedOut(number) : 'not begun';
      const { value } = end;
      if (value instanceof Refused) return outcomeOfError(value.thrown, number, delayMs);
      return Outcome.is(value) ? value : Outcome.ok(value);
    } catch (error) {
      return attempt.signal.aborted ? 'stopped' : outcomeOfError(error, number, delayMs);
    }
  }

  #context(envelope: Envelope, { attempt, attemptsMax }: Attempt, signal: AbortSignal): InlineContext {
    const { opId, tenant, traceparent, command } = envelope;
    const logger = this.#logger;
    return {
      opId,
      tenant,
      traceparent,
      attempt,
      retriesLeft: attemptsMax - attempt,
      signal,
      idempotencyKey: opId,
      // Made on demand: most handlers write nothing.
      get log() {
        const { domain, eventType, bizKey } = command;
        return logger.child({ ...operationFields(envelope), domain, eventType, bizKey });
      },
    };
  }
}
