import { ERRORS as OUTBOX_ERRORS, type Outbox, type OutboxEventMap } from '@millrace/outbox';
import { ERRORS as DATABASE_ERRORS } from '@millrace/postgres';
import { routeOf } from '../check-command.js';
import { type EndListener, HandedOver } from '../handed-over.js';
import type { Backing, Envelope } from '../model.js';
import type { OpId } from '../op-id.js';
import { ORCHESTRATOR_DEFAULTS } from '../options.js';
import type { BackedOperation, BackingLook, OperationStore, RoutedOperation } from '../ports.js';
import type { BackedRoute, BackingAdapter } from '../routes.js';
import { type BatchDefinition, checkedBatchRoute } from './batch-route.js';
import { backingOf, outcomeOfEnding, readBytesMax } from './outcome-of-ending.js';
import { SharedEnds } from './shared-ends.js';

/** Options of a BatchBacking. */
export interface BatchBackingOptions {
  readonly outbox: Pick<Outbox, 'pusher' | 'batches' | 'events' | 'onBatchEnd'>;
  /**
   * The store of the operations, if it is in the database of the outbox. A batch and its operation end in one transaction
   * then. Every instance that runs tasks requires it, like every listener of `onBatchEnd`.
   */
  readonly operations?: Pick<OperationStore, 'repairs' | 'notices'> | undefined;
  /** Maximum size of a result that is stored with its operation (1 MiB). A larger one is stored as a reference. */
  readonly outcomeBytesMax?: number | undefined;
}

/** Number of batches whose results are read in one call. */
const READ_AT_ONCE = 20;

/** Makes the reference to a batch that has no id yet. */
const keyOf = (tenant: string, dag: string): string => JSON.stringify([tenant, dag]);

/** Hands commands over to the outbox, as batches. */
export class BatchBacking implements BackingAdapter {
  readonly kind = 'batch';
  readonly #outbox: BatchBackingOptions['outbox'];
  readonly #outcomeBytesMax: number;
  readonly #handedOver: HandedOver;
  /** The DAG of each route. */
  readonly #dags = new Map<string, string>();

  constructor(options: BatchBackingOptions) {
    const { outbox, operations, outcomeBytesMax = ORCHESTRATOR_DEFAULTS.outcomeBytesMax } = options;
    this.#outbox = outbox;
    this.#outcomeBytesMax = outcomeBytesMax;
    const handedOver = new HandedOver(() =>
      // With a shared database SharedEnds reports the ends.
      operations ? () => {} : outbox.events.on('batch', (event) => this.#hear(event)),
    );
    this.#handedOver = handedOver;
    if (operations) {
      const onEnded: EndListener = (opId, outcome) => handedOver.tell(opId, outcome);
      new SharedEnds({ outbox, operations, outcomeBytesMax, dags: this.#dags, onEnded });
    }
  }

  check(name: string, route: BackedRoute): void {
    this.#dags.set(name, checkedBatchRoute(name, route).dag);
  }

  /**
   * Starts the batch of an operation. A repetition finds the started batch.
   * @param route - made by `batch`.
   * @throws MillraceError of `pusher.start`, such as `BACKEND_UNAVAILABLE` (retryable) and `DAG_NOT_FOUND`.
   */
  async submit(envelope: Envelope, route: BackedRoute): Promise<Backing> {
    const { opId, tenant, traceparent, command } = envelope;
    const { dag, toPayload } = route.definition as BatchDefinition;
    const payload = await toPayload(command, { opId, tenant, traceparent });
    this.#handedOver.remember(opId, keyOf(tenant, dag));
    try {
      const { id } = await this.#outbox.pusher.start(dag, opId, payload, { tenant, traceparent });
      return backingOf(id);
    } catch (error) {
      this.#handedOver.forget(opId);
      throw error;
    }
  }

  async look(operations: readonly BackedOperation[]): Promise<ReadonlyMap<OpId, BackingLook>> {
    const looks = new Map<OpId, BackingLook>();
    const failures: unknown[] = [];
    for (let at = 0; at < operations.length; at += READ_AT_ONCE) {
      const some = operations.slice(at, at + READ_AT_ONCE);
      if (await this.#lookAt(some, looks, failures)) continue;
      // An unreadable batch must not hide the others.
      const seen = await Promise.all(some.map((one) => this.#lookAt([one], looks, failures)));
      // Each further call to an unavailable outbox would wait for its timeout.
      if (!seen.includes(true) && DATABASE_ERRORS.is(failures.at(-1), 'BACKEND_UNAVAILABLE')) break;
    }
    // Unread batches are checked again later. If none could be read, the caller logs why.
    if (looks.size === 0 && failures.length > 0) throw failures[0];
    return looks;
  }

  /** Returns true if the batches could be read. */
  async #lookAt(
    operations: readonly BackedOperation[],
    looks: Map<OpId, BackingLook>,
    failures: unknown[],
  ): Promise<boolean> {
    try {
      const endings = await this.#endings(operations.map(({ backing }) => backing.ref));
      for (const { opId, backing } of operations) {
        const ending = endings.get(backing.ref);
        const outcome = ending && outcomeOfEnding(ending, this.#outcomeBytesMax);
        if (!ending) looks.set(opId, { kind: 'gone' });
        else looks.set(opId, outcome ? { kind: 'ended', outcome } : { kind: 'running' });
      }
      return true;
    } catch (error) {
      failures.push(error);
      return false;
    }
  }

  async cancel(operation: RoutedOperation): Promise<void> {
    const id = operation.backing?.ref ?? (await this.#findBatch(operation));
    if (id === undefined) return;
    try {
      await this.#outbox.batches.abort(id);
    } catch (error) {
      if (!OUTBOX_ERRORS.is(error, 'BATCH_NOT_FOUND')) throw error;
    }
  }

  /**
   * Subscribes to the ends of batches: with a shared database of all that end here, else of those handed over here.
   * @returns a function that unsubscribes.
   */
  onSettled(listener: EndListener): () => void {
    return this.#handedOver.listen(listener);
  }

  async #findBatch({ tenant, opId, ...route }: RoutedOperation): Promise<string | undefined> {
    const dag = this.#dags.get(routeOf(route));
    return dag === undefined
      ? undefined
      : (await this.#outbox.batches.find({ tenant, dag, bizKey: opId }))?.id;
  }

  #endings(ids: readonly string[]) {
    return this.#outbox.batches.endings(ids, { bytesMax: readBytesMax(this.#outcomeBytesMax) });
  }

  #hear({ id, tenant, dag, bizKey }: OutboxEventMap['batch']): void {
    const opId = this.#handedOver.take(bizKey, keyOf(tenant, dag));
    if (opId === undefined) return;
    // Only a hint: after a failure the next check finds the end.
    this.#endings([id])
      .then((endings) => {
        const ending = endings.get(id);
        const outcome = ending && outcomeOfEnding(ending, this.#outcomeBytesMax);
        if (outcome) this.#handedOver.tell(opId, outcome);
      })
      .catch(() => {});
  }
}
