import { type LimitFunction, onAbort, pLimit } from '@millrace/async-utils';
import type { SendMailOptions } from 'nodemailer';
import { ERRORS } from '../errors.js';
import { loadMailer } from './load-mailer.js';

/** What a mail server said to a message of which it took at least a part. */
export interface SmtpReceipt {
  readonly accepted: readonly string[];
  readonly rejected: readonly string[];
  /** What it said to the first it rejected. */
  readonly rejection: string;
}

/**
 * All below the default `workerPool.jobTimeoutMs`, so that a silent server is named as the cause. Parameters of the URL
 * (`?socketTimeout=60000`) win.
 */
const TIMEOUTS = {
  dnsTimeout: 5_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 20_000,
  // An open connection keeps the process alive when nobody closes the processor.
  idleTimeout: 10_000,
};

type Mailer = Awaited<ReturnType<typeof loadMailer>>;
const openConnection = ({ createTransport }: Mailer, url: string) =>
  createTransport({ url, pool: true, maxConnections: 1, maxRequeues: 1, ...TIMEOUTS });
type Connection = ReturnType<typeof openConnection>;

/**
 * Connections to one mail server, each used for one message after the other.
 *
 * Each is a nodemailer pool of one: nodemailer cannot take back a message that waits in its own queue, but it can cut a
 * pool off. Here nothing waits inside nodemailer, so a try that was aborted sends nothing later.
 */
export class SmtpConnections {
  readonly #url: string;
  readonly #limit: LimitFunction;
  /** The last used is used next, so those that are not needed are closed for idleness. */
  readonly #idle: Connection[] = [];
  #closed = false;

  /**
   * @param url - `smtp://` or `smtps://`.
   * @param connectionsMax - at once.
   */
  constructor(url: string, connectionsMax: number) {
    this.#url = url;
    this.#limit = pLimit(connectionsMax);
  }

  /**
   * Sends a message.
   * @param message - complete.
   * @param signal - ends it: what waits is not sent, the connection of what is on its way is cut.
   * @throws whatever nodemailer throws; MillraceError `EMAIL_FAILED` after `close`; AbortError.
   */
  send(message: SendMailOptions, signal: AbortSignal): Promise<SmtpReceipt> {
    return this.#limit.run(() => this.#sendNow(message, signal), { signal });
  }

  /** Lets what is on its way finish, and closes all connections. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.close();
    await this.#limit.onIdle();
  }

  async #sendNow(message: SendMailOptions, signal: AbortSignal): Promise<SmtpReceipt> {
    const mailer = await loadMailer();
    if (this.#closed) throw ERRORS.create('EMAIL_FAILED', { reason: 'the processor is closed' });
    signal.throwIfAborted();
    const connection = this.#idle.pop() ?? openConnection(mailer, this.#url);
    const offAbort = onAbort(signal, () => connection.close({ force: true }));
    try {
      const { accepted, rejected, rejectedErrors } = await connection.sendMail(message);
      return { accepted, rejected, rejection: rejectedErrors?.[0]?.response ?? '' };
    } finally {
      offAbort();
      if (this.#closed || signal.aborted) connection.close();
      else this.#idle.push(connection);
    }
  }
}
