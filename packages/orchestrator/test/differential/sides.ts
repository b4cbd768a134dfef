import { ManualClock } from '@millrace/testkit';
import { MemoryOperationStore } from '../../src/memory/store.js';
import { PostgresOperationStore } from '../../src/postgres/index.js';
import { holdTime, inSchema, openDatabase, SCHEMA, type StoreDatabase } from '../open-store.js';
import { type Side, TIME_BEGINS } from './compare.js';

/** A new memory store. */
export function memorySide(): Side {
  const clock = new ManualClock({ now: TIME_BEGINS });
  return {
    store: new MemoryOperationStore({ clock }),
    setTime: (now) => clock.jump(now - clock.now()),
  };
}

/** A store in PostgreSQL that every sequence begins with empty. */
export interface DatabaseSide extends Side {
  readonly database: StoreDatabase['database'];
  empty(): Promise<void>;
  close(): Promise<void>;
}

/** A server: on it a call takes a fraction of what PGlite needs, and the statements are the same. */
export async function openDatabaseSide(): Promise<DatabaseSide> {
  const { database, close } = await openDatabase('postgres');
  const setTime = await holdTime(database, TIME_BEGINS);
  return {
    store: new PostgresOperationStore({ database, schema: SCHEMA }),
    database,
    setTime,
    empty: async () => {
      await database.query(inSchema('DELETE FROM {schema}.operation'));
      await setTime(TIME_BEGINS);
    },
    close,
  };
}
