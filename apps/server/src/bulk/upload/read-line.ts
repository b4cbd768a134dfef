import { isUtf8 } from 'node:buffer';
import type { JobInput } from '@millrace/bulk-action';
import { fieldErrorsOf, fieldErrorsText, GroupRequest, JobRequest } from '@millrace/contract';
import parse from 'secure-json-parse';
import type { z } from 'zod';
import { jobInput } from '../to-engine-input.js';
import { LineFault } from './line-splitter.js';

/** Spaces, tabs and the carriage return before a newline. */
const BLANK = /^[\t\r ]*$/;
/** `{`: a line that begins so is not blank. */
const OBJECT = 0x7b;

const NOT_A_LIST = 'there must be one job on each line, not a list';

/**
 * The value of a line of JSON; undefined for a blank line. Names that change what objects inherit are refused, as in every body.
 * @param line - its bytes.
 * @throws LineFault when it is not JSON.
 */
export function valueOfLine(line: Buffer): unknown {
  if (!isUtf8(line)) throw new LineFault('it is not UTF-8');
  const text = line.toString('utf8');
  if (line[0] !== OBJECT && BLANK.test(text)) return undefined;
  try {
    return parse(text);
  } catch (error) {
    // What V8 says of it quotes the line.
    const isForbidden = error instanceof Error && error.message.startsWith('Object contains forbidden');
    if (isForbidden) throw new LineFault('it has a name that is not allowed: __proto__ or constructor');
    // Such as the first line of a list that is written over many.
    throw new LineFault(/^\s*\[/.test(text) ? NOT_A_LIST : 'it is not JSON');
  }
}

/**
 * The job of a line.
 * @throws LineFault when it is none.
 */
export function jobOfValue(value: unknown): JobInput {
  // One million of these: what the engine checks anyway, field by field, is not checked twice. Times are texts only here.
  if (isObject(value) && value.notBefore === undefined && value.deadline === undefined)
    return value as unknown as JobInput;
  if (Array.isArray(value)) throw new LineFault(NOT_A_LIST);
  return jobInput(checked(JobRequest, value));
}

/**
 * The group of a line.
 * @throws LineFault when it is none.
 */
export const groupOfValue = (value: unknown): GroupRequest => checked(GroupRequest, value);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function checked<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new LineFault(fieldErrorsText(fieldErrorsOf(error.issues)));
}
