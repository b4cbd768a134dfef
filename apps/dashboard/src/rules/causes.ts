import { counted, countText } from './amounts.js';

/** The most causes that a server tells at once: PAGE_SIZE_MAX of the contract, which a test compares. */
export const CAUSES_MAX = 200;

/** Failures of one cause, counted. */
export interface Counted {
  readonly count: number;
}

/** How many failures there are; undefined where there may be more causes than the server has told. */
export const failuresOf = (causes: readonly Counted[]): number | undefined =>
  causes.length < CAUSES_MAX ? causes.reduce((sum, { count }) => sum + count, 0) : undefined;

/**
 * Thousands of failures are a few errors: `2,000 failures are 3 errors`.
 * @param causes - as the server told them, at most CAUSES_MAX.
 * @param failures - how many there are, where it is known from elsewhere.
 */
export function failuresText(causes: readonly Counted[], failures = failuresOf(causes)): string {
  if (failures === undefined) return `Failures of ${countText(causes.length)} errors or more`;
  const isAll = causes.length < CAUSES_MAX;
  return `${counted(failures, 'failure is', 'failures are')} ${counted(causes.length, 'error')}${isAll ? '' : ' or more'}`;
}

/** What a signature is made of, as far as it can be told apart. */
export interface CauseParts {
  readonly processorType: string | undefined;
  readonly code: string | undefined;
  /** What failed, with whatever differs from job to job masked. */
  readonly message: string;
}

/** What is known of the last failure of a cause. */
export interface CauseKnown {
  readonly signature: string;
  readonly processorType?: string | undefined;
  readonly code?: string | undefined;
}

/**
 * Type, code and message of a signature. It is one line of the three, cut at the end: where its beginning is not what it should be,
 * all of it is the message.
 * @param cause - the signature, and the type and the code of the last failure.
 */
export function causeParts({ signature, processorType, code }: CauseKnown): CauseParts {
  const head = `${processorType} ${code}`.replaceAll(/\s+/g, ' ');
  const isKnown = processorType !== undefined && code !== undefined;
  if (isKnown && (signature === head || signature.startsWith(`${head} `)))
    return { processorType, code, message: signature.slice(head.length + 1) || code };
  return { processorType, code, message: signature };
}

const NAME_CHARACTERS_MAX = 80;

/** What a cause is called: its code, or the beginning of what it says. */
export function causeName({ code, message }: CauseParts): string {
  const name = code || message;
  return name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX)}…` : name;
}

/** The part of all failures that one cause has, 0 to 1. */
export const causeShare = (count: number, failures: number): number =>
  failures > 0 ? Math.min(1, count / failures) : 0;
