import type { Socket } from 'node:net';
import { backoffMs, withJitter } from '@millrace/foundation';
import type pg from 'pg';
import { ERRORS } from '../errors.js';
import { decoderOf, quoteIdentifier } from '../values.js';
import type { ResolvedPgDatabaseOptions } from './options.js';

/** Interval at which PostgreSQL checks that the client of a running statement is still connected. */
const CLIENT_CHECK_MS = 1_000;
const FIRST_RETRY_MS = 20;

/** Loads pg at the first connection: users of PGlite need not install it. */
export async function loadPg(): Promise<typeof pg> {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    throw ERRORS.create('DRIVER_MISSING', { library: 'pg' }, { cause });
  }
}

/**
 * Returns the configuration of a new connection. The settings travel in the start-up message: that saves a round trip, and a pooler cannot pass a
 * SET on to another client.
 * @param checksClient - true if the server notices during a statement that its client is gone: PostgreSQL can on Linux, but not on Windows.
 */
export function clientConfig(
  options: ResolvedPgDatabaseOptions,
  role: 'pool' | 'listen',
  checksClient = false,
): pg.ClientConfig {
  const { url, schema, applicationName, connectTimeoutMs, callTimeoutMs, transactionTimeoutMs } = options;
  const settings: Record<string, string> = {
    DateStyle: 'ISO',
    bytea_output: 'hex',
    statement_timeout: String(Math.ceil(callTimeoutMs)),
    idle_in_transaction_session_timeout: String(Math.ceil(transactionTimeoutMs)),
    ...(checksClient && { client_connection_check_interval: String(CLIENT_CHECK_MS) }),
    ...(schema !== undefined && { search_path: `${quoteIdentifier(schema)}, public` }),
  };
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}=${escaped(value)}`);
  // In the address, because its settings win over those that pg gets beside it.
  const address = new URL(url);
  const given = address.searchParams.get('options');
  address.searchParams.set('options', [...(given ? [given] : []), ...flags].join(' '));
  return {
    // The + of form encoding would be read as a plus sign.
    connectionString: address.href.replace(/\?.*$/, (query) => query.replaceAll('+', '%20')),
    application_name: `${applicationName}:${role}`,
    connectionTimeoutMillis: connectTimeoutMs,
    // Statements are sent without waiting for earlier replies; the replies come in order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: decoderOf as pg.CustomTypesConfig['getTypeParser'] },
  };
}

const escaped = (value: string) => value.replace(/[\\\s]/g, '\\$&');

/** Returns the pause after the given number of failed attempts to connect in a row. */
export function reconnectPauseMs(options: ResolvedPgDatabaseOptions, attempt: number): number {
  const { reconnectMaxMs: maxMs, rng } = options;
  const longestMs = backoffMs({ strategy: 'exponential', attempt, baseMs: FIRST_RETRY_MS, maxMs });
  return withJitter(longestMs, -0.5, rng.next());
}

/** Sends everything of this turn of the event loop in one write: BEGIN with the first statement, COMMIT behind the last. */
export function gatherWrites(client: pg.ClientBase): void {
  const stream = streamOf(client);
  if (!stream || stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Ends a client at once. `end` alone waits for the other side to close, which a frozen PostgreSQL never does. */
export function destroyClient(client: pg.ClientBase): void {
  streamOf(client)?.destroy();
}

const streamOf = (client: pg.ClientBase) =>
  (client as unknown as { connection?: { stream: Socket } }).connection?.stream;
