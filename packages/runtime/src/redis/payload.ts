import { ERRORS } from '../errors.js';
import type { QueueItem } from '../model.js';

/**
 * The JSON of a payload.
 * @param payload - anything JSON can carry; what is inside objects and arrays is carried as JSON does (a Date becomes
 * its text, a member that is undefined is left out).
 * @param bytesMax - how long it may be.
 * @throws MillraceError `QUEUE_PAYLOAD_INVALID`.
 */
export function encodePayload(payload: unknown, bytesMax: number): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(payload);
  } catch (cause) {
    // Circular, a BigInt, a toJSON that throws, or too deep for the stack.
    const reason = cause instanceof Error ? cause.message : 'JSON.stringify failed';
    throw ERRORS.create('QUEUE_PAYLOAD_INVALID', { reason }, { cause });
  }
  // A NaN would come back as null.
  if (json === undefined || (typeof payload === 'number' && !Number.isFinite(payload))) {
    const given = typeof payload === 'number' ? String(payload) : typeof payload;
    throw ERRORS.create('QUEUE_PAYLOAD_INVALID', { reason: `JSON has no ${given}` });
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > bytesMax) {
    const reason = `it has ${bytes} bytes as JSON, at most ${bytesMax} are allowed (payloadBytesMax)`;
    throw ERRORS.create('QUEUE_PAYLOAD_INVALID', { reason });
  }
  return json;
}

/**
 * The item of a stored entry `{"id":…,"createdAt":…,"payload":…}`. Members named `__proto__` come back as own members
 * and change nothing: JSON.parse defines, it does not assign.
 * @returns the item, or undefined when the entry is not one of ours.
 */
export function decodeEntry<T>(entry: string): QueueItem<T> | undefined {
  try {
    const { id, createdAt, payload } = JSON.parse(entry);
    if (typeof id !== 'string' || typeof createdAt !== 'number' || payload === undefined) return undefined;
    return { id, payload, createdAt: new Date(createdAt) };
  } catch {
    return undefined;
  }
}
