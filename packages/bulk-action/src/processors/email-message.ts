import { fieldInvalid, fieldsOf, type PayloadFields, textField } from './payload-fields.js';

/** The payload of a `SEND_EMAIL`; it has `body`, `html` or both. */
export interface EmailPayload {
  /** `ada@example.com`, `Ada <ada@example.com>`, or a list of them. */
  readonly to: string | readonly string[];
  readonly subject: string;
  /** The message as plain text. */
  readonly body?: string | undefined;
  /** The message as HTML. */
  readonly html?: string | undefined;
}

/** One address, taken apart so that nothing parses it again. */
export interface MailAddress {
  /** '' = none. */
  readonly name: string;
  readonly address: string;
}

/** A message as its payload asks for it. */
export interface EmailMessage {
  readonly to: readonly MailAddress[];
  readonly subject: string;
  readonly text?: string;
  readonly html?: string;
}

/** RFC 5321 obliges a server to take this many. */
const RECIPIENTS_MAX = 100;
const SUBJECT_CHARACTERS_MAX = 998;
const CONTENT_CHARACTERS_MAX = 1_000_000;
const NAMED_ADDRESS_CHARACTERS_MAX = 400;
const ADDRESS_CHARACTERS_MAX = 254;
/** A separator in a name that is not quoted would hide an address: `ada@example.com, Bob <bob@example.com>`. */
const NAMED_ADDRESS = /^(?:"([^"<>]*)"\s*|([^"<>@,;:]*))<([^<>]*)>$/;
/** No space, control, quote, bracket or separator: an address cannot become two, nor a command of SMTP. */
const LOCAL_PART = /^[^\s\p{C}"(),:;<>@[\]\\]{1,64}$/u;
const DOMAIN = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,62})(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,62}))*$/u;

/**
 * Reads the payload of a `SEND_EMAIL`.
 * @param type - of the job, for messages.
 * @param payload - as submitted.
 * @throws MillraceError `FIELD_INVALID`, `FIELD_UNKNOWN`.
 */
export function readEmail(type: string, payload: unknown): EmailMessage {
  const fields = fieldsOf(type, payload, ['to', 'subject', 'body', 'html']);
  const to = readRecipients(fields);
  const subject = oneLine(textField(fields, 'subject', SUBJECT_CHARACTERS_MAX));
  if (subject === '') throw fieldInvalid('subject', 'more than line breaks', fields.subject);
  if (fields.body === undefined && fields.html === undefined)
    throw fieldInvalid('body', 'given, unless there is html', undefined);
  return { to, subject, ...content(fields, 'body', 'text'), ...content(fields, 'html', 'html') };
}

/**
 * Reads one address.
 * @param text - `ada@example.com` or `Ada <ada@example.com>`.
 * @returns undefined when it is none, or more than one.
 */
export function readAddress(text: string): MailAddress | undefined {
  if (text.length > NAMED_ADDRESS_CHARACTERS_MAX) return undefined;
  const [, quoted, plain, inside] = NAMED_ADDRESS.exec(text.trim()) ?? [];
  const address = inside ?? text.trim();
  const at = address.lastIndexOf('@');
  const isAddress =
    address.length <= ADDRESS_CHARACTERS_MAX &&
    LOCAL_PART.test(address.slice(0, Math.max(0, at))) &&
    DOMAIN.test(address.slice(at + 1));
  return isAddress ? { name: oneLine(quoted ?? plain ?? ''), address } : undefined;
}

function readRecipients({ to }: PayloadFields): readonly MailAddress[] {
  const given: readonly unknown[] = Array.isArray(to) ? to : [to];
  if (given.length === 0 || given.length > RECIPIENTS_MAX)
    throw fieldInvalid('to', `1 to ${RECIPIENTS_MAX} addresses`, `${given.length} addresses`);
  return given.map((one) => {
    const address = typeof one === 'string' ? readAddress(one) : undefined;
    if (address) return address;
    throw fieldInvalid('to', "an address such as 'ada@example.com', or a list of them", one);
  });
}

function content<K extends 'text' | 'html'>(fields: PayloadFields, field: string, as: K) {
  if (fields[field] === undefined) return undefined;
  return { [as]: textField(fields, field, CONTENT_CHARACTERS_MAX) } as { readonly [key in K]: string };
}

/** A header is one line: a line break in it would begin a header of the payload's choice. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
