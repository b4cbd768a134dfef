import type { Batch, Outbox } from '@millrace/outbox';
import type { Tx } from '@millrace/postgres';
import { routeOf } from '../check-command.js';
import { RecentMap } from '../handed-over.js';
import type { Operation } from '../model.js';
import { OpId } from '../op-id.js';
import type { Outcome } from '../outcome.js';
import type { OperationStore } from '../ports.js';
import { endingOf } from '../rules/outcomes.js';
import { outcomeOfEnding, readBytesMax } from './outcome-of-ending.js';

/** Options of SharedEnds. */
export interface SharedEndsOptions {
  readonly outbox: Pick<Outbox, 'batches' | 'events' | 'onBatchEnd'>;
  /** The store of the operations, in the database of the outbox. */
  readonly operations: Pick<OperationStore, 'repairs' | 'notices'>;
  readonly outcomeBytesMax: number;
  /** The DAG of each known route. */
  readonly dags: ReadonlyMap<string, string>;
  /** Called after the commit of an end. */
  readonly onEnded: (opId: OpId, outcome: Outcome) => void;
}

/** An operation that ends if its transaction commits. */
interface EndedOperation {
  readonly opId: OpId;
  readonly outcome: Outcome;
  readonly waited: boolean;
}

/** Maximum number of ends remembered until their commit. The waiters of a forgotten one wait for the next check. */
const REMEMBERED_MAX = 10_000;

/** Thrown to roll back the end of an operation that does not belong to the batch. */
const FOREIGN = Symbol('not the operation of this batch');

/** Ends operations in the transaction that ends their batches, so both end or neither. Notifies waiters after the commit. */
export class SharedEnds {
  readonly #options: SharedEndsOptions;
  /** By the id of the batch. */
  readonly #ended = new RecentMap<string, EndedOperation>(REMEMBERED_MAX);

  constructor(options: SharedEndsOptions) {
    this.#options = options;
    const { outbox } = options;
    outbox.onBatchEnd((tx, batch) => this.#end(tx, batch));
    outbox.events.on('batch', ({ id }) => this.#tell(id));
  }

  async #end(tx: Tx, batch: Batch): Promise<void> {
    const { id, runNo, bizKey } = batch;
    this.#ended.delete(id);
    // Only the first run belongs to an operation, and operations have UUIDs. Other batches cost nothing here.
    if (runNo !== 1 || !OpId.is(bizKey)) return;
    const { outbox, operations, outcomeBytesMax } = this.#options;
    const bytesMax = readBytesMax(outcomeBytesMax);
    const ending = (await outbox.batches.endings([id], { bytesMax, tx })).get(id);
    const outcome = ending && outcomeOfEnding(ending, outcomeBytesMax);
    if (!outcome) return;
    const opId = bizKey;
    try {
      // A savepoint, so that the end of another tenant's operation of this name can be rolled back.
      await tx.transaction(async (part) => {
        const answer = await operations.repairs.endBacked(opId, endingOf(outcome), part);
        if (answer.kind !== 'settled') return;
        if (!this.#isOf(answer.operation, batch)) throw FOREIGN;
        this.#ended.set(id, { opId, outcome, waited: answer.waited });
      });
    } catch (error) {
      if (error !== FOREIGN) throw error;
    }
  }

  /** A batch may end before it is stored as the backing. Then the route of the operation must start batches of this DAG. */
  #isOf({ tenant, domain, eventType, backing }: Operation, batch: Batch): boolean {
    if (tenant !== batch.tenant) return false;
    if (backing) return backing.kind === 'batch' && backing.ref === batch.id;
    return this.#options.dags.get(routeOf({ domain, eventType })) === batch.dag;
  }

  #tell(batchId: string): void {
    const ended = this.#ended.get(batchId);
    if (!ended) return;
    this.#ended.delete(batchId);
    const { operations, onEnded } = this.#options;
    if (ended.waited) operations.notices.tell(ended.opId);
    onEnded(ended.opId, ended.outcome);
  }
}
