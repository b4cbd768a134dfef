import type { ServerSentEvent } from './server-sent-events.js';

/** What the endpoint said went wrong, in words for a person. */
export class EndpointFailure extends Error {
  override readonly name = 'EndpointFailure';
  /** How long the endpoint asked to be left alone. */
  declare readonly retryAfterMs?: number;

  /** @param retryAfterMs - if the endpoint said so. */
  constructor(reason: string, retryAfterMs?: number) {
    super(reason);
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Whether an event says that the answer is complete.
 * @param event - of the answer's stream.
 */
export const isDone = ({ data }: ServerSentEvent): boolean => data.trim() === '[DONE]';

/**
 * The text that one event of a streamed completion adds; '' for events about other things (role, usage …).
 * @param event - of the answer's stream.
 * @throws EndpointFailure for an error sent in mid-stream and for what is no JSON.
 */
export function textOf({ event, data }: ServerSentEvent): string {
  const chunk = parseJson(data);
  const failure = chunk === undefined ? undefined : errorIn(chunk);
  if (failure !== undefined || event === 'error') {
    throw new EndpointFailure(`the endpoint sent an error: ${failure ?? data.slice(0, 500)}`);
  }
  if (chunk === undefined) throw new EndpointFailure('the endpoint sent an event that is not JSON');
  const content = at(at(at(at(chunk, 'choices'), 0), 'delta'), 'content');
  return typeof content === 'string' ? content : '';
}

/**
 * Refuses an answer that is no event stream, with the reason that its body gives.
 * @param response - the endpoint's answer.
 * @param bytesMax - how much of the body is read for the reason.
 * @throws EndpointFailure.
 */
export async function refuseFailure(response: Response, bytesMax: number): Promise<void> {
  const type = response.headers.get('content-type') ?? '';
  if (response.ok && !/\bjson\b|\bhtml\b/i.test(type)) return;
  const body = await readStart(response, bytesMax);
  const json = parseJson(body);
  const reason = (json === undefined ? undefined : errorIn(json)) ?? body.trim().slice(0, 500);
  const answered = `the endpoint answered ${response.status}${response.ok ? ` with ${type}` : ''}`;
  throw new EndpointFailure(reason === '' ? answered : `${answered}: ${reason}`, retryAfterMs(response));
}

/** The message of an error object in the shapes that are about: `{error: {message}}`, `{error: 'text'}`. */
function errorIn(json: unknown): string | undefined {
  const error = at(json, 'error');
  if (error === undefined || error === null) return undefined;
  const message = typeof error === 'string' ? error : at(error, 'message');
  return typeof message === 'string' && message !== '' ? message.slice(0, 500) : 'no message given';
}

function retryAfterMs(response: Response): number | undefined {
  const seconds = response.headers.get('retry-after') ?? '';
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

async function readStart(response: Response, bytesMax: number): Promise<string> {
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = '';
  for (let left = bytesMax; reader && left > 0; ) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value.subarray(0, left), { stream: true });
    left -= value.byteLength;
  }
  return text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const at = (value: unknown, key: string | number): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[key] : undefined;
