/**
 * Operations in PostgreSQL, on a server or embedded (PGlite): the store and its tables.
 *
 * @packageDocumentation
 */
export {
  type MigrateOrchestratorOptions,
  migrateOrchestrator,
  requireOrchestratorMigrated,
} from './migrate.js';
export {
  POSTGRES_OPERATION_STORE_DEFAULTS,
  PostgresOperationStore,
  type PostgresOperationStoreOptions,
} from './store.js';
