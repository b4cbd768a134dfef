import type { BackedOperation, BackingAdapter, BackingLook, Envelope, OpId } from '@millrace/orchestrator';
import { Outcome } from '@millrace/orchestrator';
import type { Database } from '@millrace/postgres';
import type { WorkPayload } from './plan.js';
import { CANCEL_ERRAND, LOOK_AT_ERRANDS, SEND_ERRAND } from './tables.js';

/**
 * Work that another part does in its own time, and that tells nobody when it has ended: the only way to know is to look. It may forget what it was
 * sent.
 */
export class ErrandBacking implements BackingAdapter {
  readonly kind = 'errand';
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async submit({ opId, command }: Envelope): Promise<{ readonly kind: string; readonly ref: string }> {
    const { ms, forgotten } = command.payload as WorkPayload;
    await this.#database.query(SEND_ERRAND, [opId, ms, forgotten]);
    return { kind: this.kind, ref: opId };
  }

  async look(operations: readonly BackedOperation[]): Promise<ReadonlyMap<OpId, BackingLook>> {
    type Row = { readonly opId: OpId; readonly cancelled: boolean; readonly done: boolean };
    const opIds = operations.map(({ opId }) => opId);
    const { rows } = await this.#database.query<Row>(LOOK_AT_ERRANDS, [opIds]);
    const looks = new Map<OpId, BackingLook>(opIds.map((opId) => [opId, { kind: 'gone' }]));
    for (const { opId, cancelled, done } of rows) {
      const outcome = cancelled ? Outcome.fail('CANCELLED', 'The errand was cancelled') : Outcome.ok('run');
      looks.set(opId, cancelled || done ? { kind: 'ended', outcome } : { kind: 'running' });
    }
    return looks;
  }

  async cancel({ opId }: { readonly opId: OpId }): Promise<void> {
    await this.#database.query(CANCEL_ERRAND, [opId]);
  }
}
