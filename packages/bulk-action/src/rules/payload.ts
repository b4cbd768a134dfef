import { bytesBeyond, encodeJson } from '@millrace/foundation';
import { ERRORS } from '../errors.js';

/**
 * The payload of a job as JSON.
 * @param job - its name in a message.
 * @param value - what the caller gave.
 * @param bytesMax - `limits.payloadBytesMax`.
 * @throws MillraceError `PAYLOAD_INVALID`, `PAYLOAD_TOO_LARGE`.
 */
export function encodePayload(job: string, value: unknown, bytesMax: number): string {
  const encoded = encodeJson(value);
  if ('reason' in encoded) throw ERRORS.create('PAYLOAD_INVALID', { job, reason: encoded.reason });
  const bytes = bytesBeyond(encoded.json, bytesMax);
  if (bytes !== undefined) throw ERRORS.create('PAYLOAD_TOO_LARGE', { job, bytes, max: bytesMax });
  return encoded.json;
}
