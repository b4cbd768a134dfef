/**
 * Tools for Millrace's tests: private Redis and PostgreSQL servers that end with the test, sandboxes on them, a TCP
 * proxy that fails on command, a manual clock, a ledger that survives SIGKILL, and waiting for conditions instead of
 * sleeping. Not published. `@millrace/testkit/vitest` has the parts that need Vitest, `@millrace/testkit/browser` those
 * that need a browser.
 *
 * @packageDocumentation
 */
export { collectGarbage } from './collect-garbage.js';
export { dumpSchema } from './dump-schema.js';
export { type Latch, latch } from './latch.js';
export { type Ledger, type LedgerEntry, type LedgerNote, openLedger, readLedger } from './ledger.js';
export { findBinary, freePort, type ServerBinaryName } from './machine.js';
export { ManualClock } from './manual-clock.js';
export { requireNoLeaks, settledResources } from './open-resources.js';
export { type PostgresServer, startPostgres } from './postgres-server.js';
export { isProcessGone } from './processes.js';
export { type LogLine, recordingLogger } from './recording-logger.js';
export { type RedisCluster, startRedisCluster } from './redis-cluster.js';
export { type RedisServer, startRedis } from './redis-server.js';
export { runApplication } from './run-application.js';
export { type PostgresSandbox, postgresSandbox, type RedisSandbox, redisSandbox } from './sandbox.js';
export { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
export { type PgliteFolder, pgliteFolder, SHORT_LIVED_PGLITE } from './templates.js';
export { until } from './until.js';
