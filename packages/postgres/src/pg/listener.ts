import type { CancelTimer } from '@millrace/foundation';
import type pg from 'pg';
import { ChannelHandlers } from '../channel-handlers.js';
import { quoteIdentifier } from '../rules/identifier.js';
import { loadPg } from './load.js';
import type { ResolvedPgDatabaseOptions } from './options.js';
import { clientConfig, destroyClient } from './settings.js';

const FIRST_RETRY_MS = 20;

/** One attempt at a connection, from its beginning to its loss. */
interface Link {
  client: pg.Client | undefined;
  /** Settles with the last statement that was sent. */
  sent: Promise<unknown>;
}

/**
 * Listens to channels on a connection of its own, opened with the first handler, closed with the last, and made anew
 * whenever it is lost or no longer answers: nothing else would tell a silent network from a quiet channel.
 */
export class Listener {
  readonly #options: ResolvedPgDatabaseOptions;
  readonly #handlers: ChannelHandlers;
  #link: Link | undefined;
  #failures = 0;
  #cancelTimer: CancelTimer = () => {};
  #state: 'closed' | 'open' | 'stopped' = 'closed';

  constructor(options: ResolvedPgDatabaseOptions) {
    this.#options = options;
    this.#handlers = new ChannelHandlers(options.logger);
  }

  /** Adds a handler; gives what takes it away. */
  listen(channel: string, handler: (payload: string) => void): () => void {
    const isNew = !this.#handlers.has(channel);
    const remove = this.#handlers.add(channel, handler);
    if (this.#state === 'closed') this.#open();
    else if (isNew) this.#send(`LISTEN ${quoteIdentifier(channel)}`);
    return () => {
      remove();
      if (this.#handlers.channels.length === 0) this.#close();
      else if (!this.#handlers.has(channel)) this.#send(`UNLISTEN ${quoteIdentifier(channel)}`);
    };
  }

  /** Ends every listening at once. */
  stop(): void {
    this.#close();
    this.#state = 'stopped';
  }

  #open(): void {
    this.#state = 'open';
    const link: Link = { client: undefined, sent: Promise.resolve() };
    this.#link = link;
    this.#connect(link).catch((error: unknown) => this.#lose(link, error));
  }

  async #connect(link: Link): Promise<void> {
    const { Client } = await loadPg();
    if (link !== this.#link) return;
    const client = new Client(clientConfig(this.#options, 'listen', { checksClient: false }));
    client.on('error', (error) => this.#lose(link, error));
    client.on('end', () => this.#lose(link, 'closed'));
    client.on('notification', ({ channel, payload }) => this.#handlers.tell(channel, payload ?? ''));
    link.client = client;
    link.sent = client.connect();
    for (const channel of this.#handlers.channels) this.#send(`LISTEN ${quoteIdentifier(channel)}`);
    await link.sent;
    if (link !== this.#link) return;
    this.#failures = 0;
    this.#checkLater(link);
  }

  #checkLater(link: Link): void {
    const { clock, listenCheckMs, callTimeoutMs } = this.#options;
    this.#cancelTimer = clock.setTimer(listenCheckMs, () => {
      this.#cancelTimer = clock.setTimer(callTimeoutMs, () =>
        this.#lose(link, `no answer for ${callTimeoutMs} ms`),
      );
      this.#send('SELECT 1');
      link.sent.then(
        () => {
          if (link !== this.#link) return;
          this.#cancelTimer();
          this.#checkLater(link);
        },
        (error: unknown) => this.#lose(link, error),
      );
    });
  }

  /** One statement after the other, since pg warns of more; a failure ends the link, and the next one asks for it all. */
  #send(sql: string): void {
    const link = this.#link;
    if (!link?.client) return;
    const { client } = link;
    link.sent = link.sent.then(() => client.query(sql));
    link.sent.catch((error: unknown) => this.#lose(link, error));
  }

  #lose(link: Link, reason: unknown): void {
    if (link !== this.#link) return;
    const { clock, rng, logger, reconnectMaxMs } = this.#options;
    logger.warn({ reason: String(reason) }, 'PostgreSQL connection for LISTEN lost');
    this.#discard();
    const pauseMs = Math.min(reconnectMaxMs, FIRST_RETRY_MS * 2 ** this.#failures++) * (0.5 + rng.next() / 2);
    this.#cancelTimer = clock.setTimer(pauseMs, () => this.#open());
  }

  #close(): void {
    this.#discard();
    if (this.#state === 'open') this.#state = 'closed';
  }

  #discard(): void {
    this.#cancelTimer();
    const client = this.#link?.client;
    this.#link = undefined;
    if (client) destroyClient(client);
  }
}
