import { createHash } from 'node:crypto';
import {
  type Clock,
  ERRORS as FOUNDATION_ERRORS,
  integerOption,
  type MillraceError,
  type OptionSpec,
  type PartialOptions,
  resolveOptions,
  systemClock,
  textOption,
  toWorkError,
} from '@millrace/foundation';
import type { SendMailOptions } from 'nodemailer';
import { ERRORS } from '../errors.js';
import type { Job, JobContext, JobProcessor } from '../processor.js';
import type { Environment, ProcessorDependencies } from './dependencies.js';
import {
  type EmailMessage,
  type EmailPayload,
  type MailAddress,
  readAddress,
  readEmail,
} from './email-message.js';
import { environmentInvalid } from './environment.js';
import { loadMailer } from './load-mailer.js';
import { SmtpConnections, type SmtpReceipt } from './smtp-connections.js';

/** The settings of an EmailProcessor, complete. */
export interface ResolvedEmailProcessorOptions {
  /** `smtp://` or `smtps://`, with name and password; '' = none (the environment's `SMTP_URL`). */
  readonly smtpUrl?: string | undefined;
  /** Who sends (the environment's `SMTP_FROM`, else the URL's user if it is an address, else `no-reply@` its host). */
  readonly from?: string | undefined;
  /** Connections to the mail server at once (5). */
  readonly connectionsMax: number;
}

/** The settings of an EmailProcessor; every one has a default. */
export type EmailProcessorOptions = PartialOptions<ResolvedEmailProcessorOptions>;

/** What a `SEND_EMAIL` leaves. */
export interface EmailResult {
  /** As in the payload. */
  readonly to: EmailPayload['to'];
  /** As it was sent: on one line. */
  readonly subject: string;
  /** Whether a mail server has accepted it for every recipient; false only where none is configured. */
  readonly delivered: boolean;
}

const URL_EXPECTED = 'an address such as smtp://user:password@mail.example.com:587';
const FROM_EXPECTED = "one address such as 'ada@example.com' or 'Ada <ada@example.com>'";
const SPEC: OptionSpec<ResolvedEmailProcessorOptions> = {
  owner: 'EmailProcessor',
  defaults: { connectionsMax: 5 },
  rules: {
    smtpUrl: textOption({ min: 0 }),
    from: textOption(),
    connectionsMax: integerOption({ min: 1 }),
  },
};

/**
 * Runs `SEND_EMAIL`. Without a mail server it renders the message and says `delivered: false`. What a server answers with
 * 4xx is tried again, with 5xx it is final.
 */
export class EmailProcessor implements JobProcessor<EmailPayload, EmailResult> {
  readonly type = 'SEND_EMAIL';
  readonly #from: MailAddress;
  readonly #clock: Clock;
  readonly #connections: SmtpConnections | undefined;

  /**
   * @param options - see EmailProcessorOptions.
   * @param dependencies - see ProcessorDependencies.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ENVIRONMENT_INVALID`.
   */
  constructor(options: EmailProcessorOptions = {}, dependencies: ProcessorDependencies = {}) {
    const { env = process.env, clock = systemClock } = dependencies;
    const given = resolveOptions(SPEC, options);
    const url = smtpUrlOf(given.smtpUrl, env);
    this.#from = senderOf(given.from, env, url);
    this.#clock = clock;
    if (url !== '') this.#connections = new SmtpConnections(url, given.connectionsMax);
  }

  /**
   * Sends the message, with a Message-ID that is the same for every try.
   * @param job - its payload is an EmailPayload.
   * @param context - see JobContext.
   * @throws MillraceError `FIELD_INVALID`, `FIELD_UNKNOWN`, `EMAIL_REFUSED`, `EMAIL_PARTLY_REFUSED` (all final),
   * `EMAIL_FAILED`.
   */
  async process(job: Job<EmailPayload>, context: JobContext): Promise<EmailResult> {
    const email = readEmail(this.type, job.payload);
    const message = this.#compose(email, context);
    if (this.#connections) await handOver(this.#connections, message, context.signal);
    else await render(message);
    return { to: job.payload.to, subject: email.subject, delivered: this.#connections !== undefined };
  }

  /** Lets what is on its way finish, and closes the connections. */
  async close(): Promise<void> {
    await this.#connections?.close();
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #compose({ to, ...rest }: EmailMessage, { idempotencyKey }: JobContext): SendMailOptions {
    const domain = this.#from.address.slice(this.#from.address.lastIndexOf('@') + 1);
    const id = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 40);
    return {
      ...rest,
      from: this.#from,
      to: [...to],
      messageId: `<${id}@${domain}>`,
      date: new Date(this.#clock.now()),
      disableFileAccess: true,
      disableUrlAccess: true,
    };
  }
}

async function render(message: SendMailOptions): Promise<void> {
  const { createTransport } = await loadMailer();
  await createTransport({ streamTransport: true, buffer: true }).sendMail(message);
}

async function handOver(
  connections: SmtpConnections,
  message: SendMailOptions,
  signal: AbortSignal,
): Promise<void> {
  let receipt: SmtpReceipt;
  try {
    receipt = await connections.send(message, signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : failureOf(error);
  }
  const { accepted, rejected, rejection } = receipt;
  if (rejected.length === 0) return;
  throw ERRORS.create('EMAIL_PARTLY_REFUSED', {
    accepted: accepted.join(', '),
    rejected: rejected.join(', '),
    reason: rejection,
  });
}

/** Of nodemailer's codes only two speak of the message itself; without a reply they are its own verdict on it. */
function failureOf(error: unknown): MillraceError {
  const { responseCode } = error as { readonly responseCode?: unknown };
  const { code, message: reason } = toWorkError(error);
  const refused =
    typeof responseCode === 'number' ? responseCode >= 500 : code === 'EENVELOPE' || code === 'EMESSAGE';
  return ERRORS.create(refused ? 'EMAIL_REFUSED' : 'EMAIL_FAILED', { reason }, { cause: error });
}

function smtpUrlOf(given: string | undefined, { SMTP_URL = '' }: Environment): string {
  const url = given ?? SMTP_URL;
  if (url === '' || isSmtpUrl(url)) return url;
  // Not shown: it holds a password.
  const details = { expected: URL_EXPECTED, given: '(not shown)' };
  if (given === undefined) throw environmentInvalid('SMTP_URL', details.expected, details.given);
  throw FOUNDATION_ERRORS.create('OPTION_INVALID', { owner: SPEC.owner, option: 'smtpUrl', ...details });
}

const isSmtpUrl = (url: string): boolean =>
  /^smtps?:\/\//i.test(url) && URL.canParse(url) && new URL(url).hostname !== '';

function senderOf(given: string | undefined, { SMTP_FROM = '' }: Environment, url: string): MailAddress {
  const text = given ?? SMTP_FROM;
  if (text === '') return senderFrom(url);
  const sender = readAddress(text);
  if (sender) return sender;
  if (given === undefined) throw environmentInvalid('SMTP_FROM', FROM_EXPECTED, text);
  const details = { option: 'from', expected: FROM_EXPECTED, given: text };
  throw FOUNDATION_ERRORS.create('OPTION_INVALID', { owner: SPEC.owner, ...details });
}

function senderFrom(url: string): MailAddress {
  const { username = '', hostname = '' } = url === '' ? {} : new URL(url);
  const user = readAddress(decodeUser(username));
  return user ?? readAddress(`no-reply@${hostname}`) ?? { name: '', address: 'no-reply@localhost' };
}

/** A user name that is not encoded properly is simply no address. */
function decodeUser(username: string): string {
  try {
    return decodeURIComponent(username);
  } catch {
    return '';
  }
}
