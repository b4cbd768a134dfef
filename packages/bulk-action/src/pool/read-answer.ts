import { toWorkError, type WorkError } from '@millrace/foundation';

/** What a try came to. */
export type Verdict =
  | { readonly success: true; readonly data: unknown }
  | { readonly success: false; readonly error: WorkError };

const ANSWER_KEYS = new Set(['jobId', 'groupId', 'processorType', 'success', 'data', 'error', 'durationMs']);
const CODE_CHARACTERS_MAX = 100;

/**
 * A failure as the store keeps it. Failures are counted by code, so an endless one must not get there.
 * @param thrown - whatever a handler threw.
 */
export function failureOf(thrown: unknown): WorkError {
  const error = toWorkError(thrown);
  return error.code.length > CODE_CHARACTERS_MAX
    ? { ...error, code: error.code.slice(0, CODE_CHARACTERS_MAX) }
    : error;
}

/**
 * Reads what a handler returned: plain data, or an answer that says how it went. Data that happens to have a member
 * `success: true` beside others of its own is data.
 * @param value - anything; a value that throws when it is read is a failure.
 */
export function readAnswer(value: unknown): Verdict {
  if (typeof value !== 'object' || value === null) return { success: true, data: value };
  try {
    const { success } = value as { success?: unknown };
    if (success === false)
      return { success: false, error: failureOf((value as { error?: unknown }).error ?? NO_ERROR) };
    if (success === true && Object.keys(value).every((key) => ANSWER_KEYS.has(key)))
      return { success: true, data: (value as { data?: unknown }).data };
    return { success: true, data: value };
  } catch (thrown) {
    return { success: false, error: failureOf(thrown) };
  }
}

const NO_ERROR = Object.freeze({ message: 'The handler answered success: false without an error' });

/**
 * Data as the store keeps it.
 * @param data - what a handler gave.
 * @param bytesMax - larger JSON is not kept.
 * @returns the JSON; or why there is none, for a log line.
 */
export function dataAsJson(
  data: unknown,
  bytesMax: number,
): { readonly json: string } | { readonly why: string } {
  try {
    const json = JSON.stringify(data);
    if (json === undefined) return { why: 'JSON cannot carry it' };
    const bytes = Buffer.byteLength(json);
    return bytes > bytesMax ? { why: `it has ${bytes} bytes, at most ${bytesMax} are kept` } : { json };
  } catch (error) {
    return { why: toWorkError(error).message };
  }
}
