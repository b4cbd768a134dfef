/**
 * The store for operations in PostgreSQL, on a server or embedded (PGlite), and its migrations.
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
