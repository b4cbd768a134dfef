import type { OrchestratorEvents } from './events.js';
import { type Envelope, operationFields } from './model.js';
import type { OpId } from './op-id.js';
import type { ResolvedOrchestratorOptions } from './options.js';

/** A call whose operation has not ended. */
interface OpenCall {
  readonly calledAt: number;
  readonly budgetMs: number;
  readonly envelope: Envelope;
}

/** An end this close to its budget makes the answer random. Another budget would be better. */
const NEAR_FROM = 0.9;
const NEAR_TO = 1.1;

/** Warns about operations that end at about the end of their budget. */
export class NearBudgetLog {
  readonly #options: ResolvedOrchestratorOptions;
  readonly #open = new Map<OpId, OpenCall>();

  constructor(options: ResolvedOrchestratorOptions, events: OrchestratorEvents) {
    this.#options = options;
    events.on('ended', ({ operation: { opId } }) => this.#ended(opId));
  }

  /** Adds a call that begins to wait. */
  open(opId: OpId, { calledAt, budgetMs, envelope }: OpenCall): void {
    this.#forget();
    this.#open.set(opId, { calledAt, budgetMs, envelope });
  }

  #ended(opId: OpId): void {
    const call = this.#open.get(opId);
    if (!call) return;
    this.#open.delete(opId);
    const { clock, logger } = this.#options;
    const { calledAt, budgetMs, envelope } = call;
    const elapsedMs = clock.monotonicMs() - calledAt;
    const share = elapsedMs / budgetMs;
    if (share < NEAR_FROM || share > NEAR_TO) return;
    const { domain, eventType, bizKey } = envelope.command;
    logger.warn(
      { ...operationFields(envelope), domain, eventType, bizKey, elapsedMs, budgetMs },
      'Operation ended about when its time budget did',
    );
  }

  /** Forgets old calls, because ends on other instances are not reported here. The oldest call is first. */
  #forget(): void {
    const { clock, timeBudget } = this.#options;
    const before = clock.monotonicMs() - NEAR_TO * timeBudget.maxMs;
    for (const [opId, { calledAt }] of this.#open) {
      if (calledAt >= before) return;
      this.#open.delete(opId);
    }
  }
}
