import type { CancelTimer } from '@millrace/foundation';
import type pg from 'pg';
import type { ChannelHandlers } from '../channel-handlers.js';
import { clientConfig, destroyClient, loadPg, reconnectPauseMs } from './client.js';
import type { ResolvedPgDatabaseOptions } from './options.js';

/** One attempt at a connection, from its beginning to its loss. */
interface Connection {
  client: pg.Client | undefined;
  /** Settles with the last statement that was sent. */
  sent: Promise<unknown>;
}

/**
 * Listens to channels on a connection of its own. The connection opens with the first handler, closes with the last, and is replaced when it is lost
 * or no longer answers: a silent network looks like a quiet channel.
 */
export class Listener {
  readonly #options: ResolvedPgDatabaseOptions;
  readonly #handlers: ChannelHandlers;
  #connection: Connection | undefined;
  #failures = 0;
  #cancelTimer: CancelTimer = () => {};
  #state: 'closed' | 'open' | 'stopped' = 'closed';

  constructor(options: ResolvedPgDatabaseOptions, handlers: ChannelHandlers) {
    this.#options = options;
    this.#handlers = handlers;
  }

  /** Stops listening to all channels at once. */
  stop(): void {
    this.#close();
    this.#state = 'stopped';
  }

  /** Sends LISTEN or UNLISTEN after a change of the handlers. */
  change(sql: string): void {
    if (this.#handlers.statements.length === 0) this.#close();
    else if (this.#state === 'closed') this.#open();
    else this.#send(sql);
  }

  #open(): void {
    this.#state = 'open';
    const connection: Connection = { client: undefined, sent: Promise.resolve() };
    this.#connection = connection;
    this.#connect(connection).catch((error: unknown) => this.#lose(connection, error));
  }

  async #connect(connection: Connection): Promise<void> {
    const { Client } = await loadPg();
    if (connection !== this.#connection) return;
    const client = new Client(clientConfig(this.#options, 'listen'));
    client.on('error', (error) => this.#lose(connection, error));
    client.on('end', () => this.#lose(connection, 'closed'));
    client.on('notification', ({ channel, payload }) => this.#handlers.call(channel, payload ?? ''));
    connection.client = client;
    connection.sent = client.connect();
    for (const sql of this.#handlers.statements) this.#send(sql);
    await connection.sent;
    if (connection !== this.#connection) return;
    this.#failures = 0;
    this.#checkLater(connection);
  }

  #checkLater(connection: Connection): void {
    const { clock, listenCheckMs, callTimeoutMs } = this.#options;
    this.#cancelTimer = clock.setTimer(listenCheckMs, () => {
      this.#cancelTimer = clock.setTimer(callTimeoutMs, () =>
        this.#lose(connection, `no answer for ${callTimeoutMs} ms`),
      );
      this.#send('SELECT 1');
      connection.sent.then(
        () => {
          if (connection !== this.#connection) return;
          this.#cancelTimer();
          this.#checkLater(connection);
        },
        (error: unknown) => this.#lose(connection, error),
      );
    });
  }

  /** Sends one statement after the other: pg warns of more. After a failure the next connection listens to all channels again. */
  #send(sql: string): void {
    const connection = this.#connection;
    if (!connection?.client) return;
    const { client } = connection;
    connection.sent = connection.sent.then(() => client.query(sql));
    connection.sent.catch((error: unknown) => this.#lose(connection, error));
  }

  #lose(connection: Connection, reason: unknown): void {
    if (connection !== this.#connection) return;
    const { clock, logger } = this.#options;
    logger.warn({ reason: String(reason) }, 'PostgreSQL connection for LISTEN lost');
    this.#discard();
    const pauseMs = reconnectPauseMs(this.#options, ++this.#failures);
    this.#cancelTimer = clock.setTimer(pauseMs, () => this.#open());
  }

  #close(): void {
    this.#discard();
    if (this.#state === 'open') this.#state = 'closed';
  }

  #discard(): void {
    this.#cancelTimer();
    const client = this.#connection?.client;
    this.#connection = undefined;
    if (client) destroyClient(client);
  }
}
