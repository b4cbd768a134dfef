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

/** What a BatchBacking takes from outside. */
export interface BatchBackingOptions {
  readonly outbox: Pick<Outbox, 'pusher' | 'batches' | 'events' | 'onBatchEnd'>;
  /**
   * The store of the operations, if it is in the outbox' database: a batch and its operation then end in one transaction. Every instance that runs
   * tasks needs it, as every listener of `onBatchEnd`.
   */
  readonly operations?: Pick<OperationStore, 'repairs' | 'notices'> | undefined;
  /** Most bytes of a result that is kept with its operation; a larger one is referred to. */
  readonly outcomeBytesMax?: number | undefined;
}

/** Batches whose results are read at once. */
const READ_AT_ONCE = 20;

/** What names the batch of an operation before it has an id. */
const keyOf = (tenant: string, dag: string): string => JSON.stringify([tenant, dag]);

/** Lets operations be batches. */
export class BatchBacking implements BackingAdapter {
  readonly kind = 'batch';
  readonly #outbox: BatchBackingOptions['outbox'];
  readonly #outcomeBytesMax: number;
  readonly #handedOver: HandedOver;
  /** By name of the route. */
  readonly #dags = new Map<string, string>();

  constructor(options: BatchBackingOptions) {
    const { outbox, operations, outcomeBytesMax = ORCHESTRATOR_DEFAULTS.outcomeBytesMax } = options;
    this.#outbox = outbox;
    this.#outcomeBytesMax = outcomeBytesMax;
    const handedOver = new HandedOver(() =>
      // With a shared database the ends come from there, and are known to be operations'.
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
   * Starts the batch of an operation. Repeated it finds the batch that was started.
   * @param route - made by `batch`.
   * @throws MillraceError what `pusher.start` throws; `BACKEND_UNAVAILABLE` is worth another try, `DAG_NOT_FOUND` is not.
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
      // One that cannot be read must not hide the others.
      const seen = await Promise.all(some.map((one) => this.#lookAt([one], looks, failures)));
      // An outbox that is away is not asked for all the rest as well, each time for as long as it is waited for.
      if (!seen.includes(true) && DATABASE_ERRORS.is(failures.at(-1), 'BACKEND_UNAVAILABLE')) break;
    }
    // What could not be seen is left for the next look; that nothing could be seen somebody should know.
    if (looks.size === 0 && failures.length > 0) throw failures[0];
    return looks;
  }

  /** @returns whether they could be seen. */
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
   * Tells of batches that end: with a shared database of all that end here, else of those that were handed over here.
   * @returns a function that ends it.
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
    // Only a hint: what goes wrong here, the next look finds.
    this.#endings([id])
      .then((endings) => {
        const ending = endings.get(id);
        const outcome = ending && outcomeOfEnding(ending, this.#outcomeBytesMax);
        if (outcome) this.#handedOver.tell(opId, outcome);
      })
      .catch(() => {});
  }
}
