import type { Clock, Logger } from '@millrace/foundation';
import { MemoryOperationStore } from '../memory/store.js';
import type { OperationStore } from '../ports.js';
import { migrateOrchestrator } from '../postgres/migrate.js';
import { PostgresOperationStore } from '../postgres/store.js';
import type { CheckedModuleOptions } from './options.js';

/** A store, and what has to be done before its first use. */
export interface ModuleStore {
  readonly store: OperationStore;
  /**
   * Says what the store does not survive, and makes the tables of an embedded database: nobody else can have it open to run a command on it.
   * @throws MillraceError those of a migration.
   */
  prepare(): Promise<void>;
}

/**
 * The store of the options.
 * @throws MillraceError `OPTION_INVALID`, `IDENTIFIER_INVALID`.
 */
export function storeOf(options: CheckedModuleOptions): ModuleStore {
  const { store, database = 'memory', schema } = options;
  const clock = options.clock as Clock | undefined;
  const logger = options.logger as Logger;
  if (store) return { store, prepare: async () => {} };
  if (database === 'memory')
    return {
      store: new MemoryOperationStore({ clock }),
      async prepare() {
        logger.warn(
          {},
          'Operations are kept in memory and end with this process; for more, give it a Database',
        );
      },
    };
  return {
    store: new PostgresOperationStore({ database, schema, clock, logger }),
    async prepare() {
      if (database.kind !== 'pglite') return;
      logger.warn(
        {},
        'Operations are kept in an embedded database: a crash of the machine may lose what was acknowledged, and no other process can use it; for more, give it a PostgreSQL',
      );
      await migrateOrchestrator(database, { schema });
    },
  };
}
