/**
 * What Millrace's own tests stand on: private Redis and PostgreSQL servers that die with the test, sandboxes on
 * them, a network that fails on command, a clock that stands still, a ledger that survives SIGKILL, and waiting for
 * conditions instead of sleeping. Nothing here is shipped. `@millrace/testkit/vitest` holds what needs Vitest,
 * `@millrace/testkit/browser` what needs a browser.
 *
 * @packageDocumentation
 */
export { collectGarbage } from './collect-garbage.js';
export { dumpSchema } from './dump-schema.js';
export { findBinary, type ServerBinaryName } from './find-binary.js';
export { freePort } from './free-port.js';
export { type Latch, latch } from './latch.js';
export { type Ledger, type LedgerEntry, type LedgerNote, openLedger, readLedger } from './ledger.js';
export { ManualClock, type ManualClockOptions } from './manual-clock.js';
export { type OpenResources, openResources, requireNoLeaks, settledResources } from './open-resources.js';
export { type PgliteFolder, pgliteFolder, SHORT_LIVED_PGLITE } from './pglite.js';
export { type PostgresServer, type PostgresServerOptions, startPostgres } from './postgres-server.js';
export type { PrivateServer } from './private-server.js';
export { isProcessGone } from './processes.js';
export { type LogLine, recordingLogger } from './recording-logger.js';
export { type RedisCluster, type RedisClusterOptions, startRedisCluster } from './redis-cluster.js';
export { type RedisServer, type RedisServerOptions, startRedis } from './redis-server.js';
export { type ProgramEnd, type RunningApplication, runApplication } from './run-application.js';
export { type RunServers, startRunServers } from './run-servers.js';
export { type PostgresSandbox, postgresSandbox, type RedisSandbox, redisSandbox } from './sandbox.js';
export { startTcpProxy, type TcpProxy, type TcpProxyOptions } from './tcp-proxy.js';
export { type Truthy, type UntilOptions, until } from './until.js';
