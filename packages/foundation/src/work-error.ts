import { printable } from './error-registry.js';
import type { WorkError } from './vocabulary.js';

const MESSAGE_CHARACTERS_MAX = 2000;

/**
 * Turns whatever a handler threw into a WorkError; never throws itself, not even for hostile values.
 *
 * An error that says `retryable: false` is final; any other throw is a retryable failure.
 * @param thrown - anything: an Error, a string, undefined, a proxy that throws on every access.
 * @returns code, message, retryable, retryAfterMs if the error asked for it, and the thrown value as the cause.
 */
export function toWorkError(thrown: unknown): WorkError {
  const code = read(thrown, 'code');
  const message = read(thrown, 'message');
  const retryAfterMs = read(thrown, 'retryAfterMs');
  const text = typeof message === 'string' ? message : `The handler threw ${printable(thrown)}`;
  return {
    code: typeof code === 'string' && code !== '' ? code : 'HANDLER_FAILED',
    message: text.slice(0, MESSAGE_CHARACTERS_MAX),
    retryable: read(thrown, 'retryable') !== false,
    // A delay without an end is none that anybody can wait for.
    ...(isDelay(retryAfterMs) && { retryAfterMs }),
    cause: thrown,
  };
}

const isDelay = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0;

function read(value: unknown, key: string): unknown {
  try {
    return (value as Record<string, unknown> | null | undefined)?.[key];
  } catch {
    return undefined;
  }
}
