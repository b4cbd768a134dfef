import { HOST, OPERATIONS_PATH } from './server-brief.js';

// Numbers of one length: requests differ in nothing but these, and are one concatenation each.
const FIRST_NUMBER = 10_000_000;

/** Requests that submit work; a text each. */
export interface WorkRequests {
  /** The request with a number; never the same twice. */
  of(number: number): string;
  /** The number in the answer to it. */
  numberOf(number: number): number;
}

/**
 * Requests for one kind of work.
 * @param ms - how long the work takes.
 * @param budgetMs - how long to wait for its end.
 */
export function workRequests(path: string, ms: number, budgetMs: number): WorkRequests {
  const bodyOf = (number: number) =>
    JSON.stringify({
      domain: 'BENCH',
      eventType: 'WORK',
      bizKey: `order-${number}`,
      payload: { ms, n: number },
      timeBudgetMs: budgetMs,
    });
  const body = bodyOf(FIRST_NUMBER);
  const text = [
    `POST ${path} HTTP/1.1`,
    `host: ${HOST}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
  const [head, middle, tail] = text.split(String(FIRST_NUMBER)) as [string, string, string];
  return {
    of: (number) => `${head}${FIRST_NUMBER + number}${middle}${FIRST_NUMBER + number}${tail}`,
    numberOf: (number) => FIRST_NUMBER + number,
  };
}

/** The request for the state of an operation. */
export const statusRequest = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: ${HOST}\r\n\r\n`;

/** What a body says of an operation. */
interface OperationText {
  readonly opId?: unknown;
  readonly status?: unknown;
  readonly state?: unknown;
  readonly statusUrl?: unknown;
  readonly outcome?: { readonly type?: unknown; readonly data?: { readonly n?: unknown } | null } | null;
}

const LOCATION = /\r\nlocation: ([^\r]+)/i;

/** The own outcome of a work. */
export function isOutcomeOf(body: string, number: number): boolean {
  const { status, state, outcome } = JSON.parse(body) as OperationText;
  return (status ?? state) === 'COMPLETED' && outcome?.type === 'Ok' && outcome.data?.n === number;
}

/** Where to ask for the operation; undefined unless body and header agree on it. */
export function statusUrlOf(head: string, body: string): string | undefined {
  const { opId, status, statusUrl } = JSON.parse(body) as OperationText;
  const isWhole =
    status === 'IN_PROGRESS' &&
    statusUrl === `${OPERATIONS_PATH}/${String(opId)}/status` &&
    statusUrl === LOCATION.exec(head)?.[1];
  return isWhole ? statusUrl : undefined;
}
