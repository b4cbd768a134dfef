import { type HttpRoute, Problem, ROUTES } from '@millrace/contract';
import { silentLogger } from '@millrace/foundation';
import { PgDatabase } from '@millrace/postgres';
import { type PostgresSandbox, postgresSandbox } from '@millrace/testkit';
import { expect } from 'vitest';
import { migrateServer } from '../src/compose/migrate.js';
import { type GivenServerConfig, ServerConfig } from '../src/config/model.js';
import type { App } from '../src/define-app.js';
import { createLog } from '../src/log.js';
import { type RunningServer, startServer } from '../src/start-server.js';

/** How a request is sent. */
export interface Sent {
  readonly method?: string | undefined;
  /** The secret of a key. */
  readonly key?: string | undefined;
  /** Sent as JSON, unless it is a text or a stream. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What came back. */
export interface Received {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed, where it is JSON; else the text. */
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is what it checks.
  readonly body: any;
}

/** A server of a test. */
export interface TestServer extends AsyncDisposable, RunningServer {
  readonly databaseUrl: string;
  /** The lines of its log, as they were written. */
  readonly lines: readonly string[];
  send(path: string, sent?: Sent): Promise<Received>;
}

/** What a test wants of its server. */
export interface ServeOptions extends GivenServerConfig {
  readonly application?: App | undefined;
  /** Of a built page. */
  readonly pageFolder?: string | undefined;
}

/**
 * Starts a whole server in this process, on a PostgreSQL of its own and with bulk jobs in memory unless `redisUrl` says where; on a free port.
 */
export async function serve({ application, pageFolder, ...given }: ServeOptions = {}): Promise<TestServer> {
  const sandbox = given.databaseUrl === undefined ? await migratedSandbox() : undefined;
  const databaseUrl = given.databaseUrl ?? (sandbox?.url as string);
  const lines: string[] = [];
  const config = ServerConfig.parse({
    port: 0,
    logLevel: 'debug',
    gracePeriodMs: 5_000,
    ...given,
    databaseUrl,
  });
  const write = (line: string) => lines.push(line) > 0;
  const log = createLog({ level: config.logLevel, secrets: [], destination: { write } });
  try {
    const server = await startServer(config, { log, app: application, pageFolder });
    return {
      ...server,
      databaseUrl,
      lines,
      async send(path, sent = {}) {
        const received = await send(server.url + path, sent);
        expectDocumented(sent.method ?? (sent.body === undefined ? 'GET' : 'POST'), path, received);
        return received;
      },
      [Symbol.asyncDispose]: () => server.close().finally(() => sandbox?.drop()),
    };
  } catch (error) {
    await sandbox?.drop();
    throw error;
  }
}

/** A database of this test's own with all tables. */
export async function migratedSandbox(): Promise<PostgresSandbox> {
  const sandbox = await postgresSandbox();
  await using database = new PgDatabase({ url: sandbox.url, logger: silentLogger });
  await migrateServer(database, { schema: 'millrace' });
  return sandbox;
}

/** Checks that the contract has the status of a response, its body, and the code if it is a problem. */
function expectDocumented(method: string, path: string, { status, headers, body }: Received): void {
  const route = (Object.values(ROUTES) as HttpRoute[]).find(
    (one) =>
      one.method === method &&
      new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] as string),
  );
  // A worker serves no API, so its routes are not found.
  if (!route || body?.code === 'NOT_FOUND') return;
  const response = route.responses[status];
  const what = `${method} ${path} ${status} ${JSON.stringify(body)}`;
  expect(response, what).toBeDefined();
  if (response?.schema === Problem) expect(response.description, what).toContain(`${body.code}: `);
  if (headers.get('content-type')?.includes('json')) expect(response?.schema.parse(body), what).toEqual(body);
}

/** Sends a request and reads its answer. */
async function send(url: string, sent: Sent = {}): Promise<Received> {
  const { body, key, headers = {}, signal } = sent;
  const isJson = body !== undefined && typeof body !== 'string' && !(body instanceof ReadableStream);
  const response = await fetch(url, {
    method: sent.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as string), duplex: 'half' }),
    ...(signal && { signal }),
  } as RequestInit);
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  return {
    status: response.status,
    headers: response.headers,
    body: /json/.test(type) && text !== '' ? JSON.parse(text) : text,
  };
}
