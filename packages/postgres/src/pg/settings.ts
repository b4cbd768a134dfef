import type { Socket } from 'node:net';
import type pg from 'pg';
import { decoderOf } from '../rules/decode-value.js';
import { quoteIdentifier } from '../rules/identifier.js';
import type { ResolvedPgDatabaseOptions } from './options.js';

/** How often PostgreSQL looks whether the client of a running statement is still there. */
const CLIENT_CHECK_MS = 1_000;

/** What the server may not be able to do. */
export interface ServerAbilities {
  /** It can see, while a statement runs, that its client is gone: PostgreSQL on Linux can, on Windows it cannot. */
  readonly checksClient: boolean;
}

/**
 * What a new connection says of itself. The settings travel with the start-up message: no round trip, and no SET that a
 * pooler would hand on to somebody else.
 */
export function clientConfig(
  options: ResolvedPgDatabaseOptions,
  role: string,
  { checksClient }: ServerAbilities,
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
  // Into the address: what stands there wins over what pg is given beside it.
  const address = new URL(url);
  const given = address.searchParams.get('options');
  address.searchParams.set('options', [...(given ? [given] : []), ...flags].join(' '));
  return {
    // A form's + would be read as a plus sign.
    connectionString: address.href.replace(/\?.*$/, (query) => query.replaceAll('+', '%20')),
    application_name: `${applicationName}:${role}`,
    connectionTimeoutMillis: connectTimeoutMs,
    // Statements go out without waiting for the answers to those before them; the answers come in their order.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: decoderOf as pg.CustomTypesConfig['getTypeParser'] },
  };
}

const escaped = (value: string) => value.replace(/[\\\s]/g, '\\$&');

/**
 * Lets everything that is sent in this turn of the event loop go out in one write: BEGIN with the first statement, COMMIT behind the last.
 */
export function gatherWrites(client: pg.ClientBase): void {
  const stream = streamOf(client);
  if (!stream || stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/**
 * Ends a client at once: `end` alone waits for the other side to close, which a frozen PostgreSQL never does.
 */
export function destroyClient(client: pg.ClientBase): void {
  streamOf(client)?.destroy();
}

const streamOf = (client: pg.ClientBase) =>
  (client as unknown as { connection?: { stream: Socket } }).connection?.stream;
