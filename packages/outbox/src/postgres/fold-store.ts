import type { Database, Tx } from '@millrace/postgres';
import type { FoldStore } from '../folder.js';
import type { Statements } from './statements.js';

/** The statements that count ticks into batches and wide joins. */
export class PostgresFoldStore implements FoldStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async peek(except: readonly string[]): Promise<boolean> {
    const { sql, name } = this.#statements.get('peek-ticks');
    const { rows } = await this.#database.query<{ any: boolean }>(sql, [except], { name, repeatable: true });
    return rows[0]?.any ?? false;
  }

  async foldBatches(
    tx: Tx,
    ticksMax: number,
    except: readonly string[],
  ): ReturnType<FoldStore['foldBatches']> {
    const { sql, name } = this.#statements.get('fold-batches');
    type Row = { readonly id: string | null; readonly has_ended: boolean; readonly ticks: number };
    const { rows } = await tx.query<Row>(sql, [ticksMax, except], { name });
    const ticks = rows.reduce((sum, row) => sum + row.ticks, 0);
    const ended = rows.flatMap(({ id, has_ended }) => (has_ended && id !== null ? id : []));
    return { hasMore: ticks >= ticksMax, isLocked: rows.some(({ id }) => id === null), ended };
  }

  async foldJoins(tx: Tx, ticksMax: number): ReturnType<FoldStore['foldJoins']> {
    const { sql, name } = this.#statements.get('fold-joins');
    type What = 'ready' | 'skip' | 'counted' | 'locked';
    const { rows } = await tx.query<{ what: What; id: string }>(sql, [ticksMax], { name });
    const idsOf = (what: What) => rows.filter((row) => row.what === what).map(({ id }) => id);
    const locked = idsOf('locked').length;
    return {
      hasMore: rows.length > locked,
      isLocked: locked > 0,
      ready: idsOf('ready').length,
      skip: idsOf('skip'),
    };
  }
}
