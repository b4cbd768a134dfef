import type { Clock } from '@millrace/foundation';
import { ERRORS } from '../src/errors.js';
import type { Envelope } from '../src/model.js';
import type { OpId } from '../src/op-id.js';
import { Outcome } from '../src/outcome.js';
import type { Attempt, Executor } from '../src/ports.js';
import type { OperationState } from '../src/states.js';

/** What a command tells the executor to do. */
export interface Timed {
  /** The work takes so long. */
  readonly ms: number;
  readonly outcome?: Outcome;
}

/** Work that takes the time its payload says, on a clock that a test holds; its outcome carries the business key. */
export class TimedExecutor implements Executor {
  readonly started: Envelope[] = [];
  readonly #clock: Clock;
  readonly #states = new Map<OpId, { state: OperationState; outcome?: Outcome }>();
  readonly #listeners = new Set<(opId: OpId, outcome: Outcome) => void>();
  readonly onSettled?: NonNullable<Executor['onSettled']>;

  /** @param tells - whether it tells of ends, or has to be asked. */
  constructor(clock: Clock, { tells = true }: { readonly tells?: boolean } = {}) {
    this.#clock = clock;
    if (tells)
      this.onSettled = (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      };
  }

  execute(envelope: Envelope, { signal }: Attempt): void {
    const { opId, command } = envelope;
    const { ms, outcome = Outcome.ok({ bizKey: command.bizKey }) } = command.payload as Timed;
    this.started.push(envelope);
    this.#states.set(opId, { state: 'IN_PROGRESS' });
    const cancel = this.#clock.setTimer(ms, () => {
      this.#states.set(opId, { state: outcome.type === 'Ok' ? 'COMPLETED' : 'FAILED', outcome });
      for (const listener of this.#listeners) listener(opId, outcome);
    });
    signal.addEventListener('abort', cancel, { once: true });
  }

  getState(opId: OpId): OperationState {
    return this.#known(opId).state;
  }

  getOutcome(opId: OpId): Outcome {
    const { state, outcome } = this.#known(opId);
    if (!outcome) throw ERRORS.create('OPERATION_NOT_TERMINAL', { opId, state });
    return outcome;
  }

  #known(opId: OpId) {
    const known = this.#states.get(opId);
    if (!known) throw ERRORS.create('OPERATION_NOT_FOUND', { opId });
    return known;
  }
}
