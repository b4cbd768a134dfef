/** What can be known of a failed command without knowing the client library. */
export interface RedisFailure {
  /** Redis itself answered with an error reply; otherwise the connection failed. */
  readonly isReply: boolean;
  readonly message: string;
  /** The platform's code (`ECONNREFUSED` …), when the connection failed with one. */
  readonly code?: string | undefined;
}

/**
 * What a failure means for the caller.
 * - `connection`: nobody knows whether the command ran; what can be repeated may be repeated at once.
 * - `unavailable`: Redis answered that it cannot now; try later.
 * - `no-script`: the script has to be sent in full.
 * - `script`: the script itself is wrong, or refused on purpose.
 * - `refused`: the command is wrong for this server or this data; trying again cannot help.
 */
export type FailureKind = 'connection' | 'unavailable' | 'no-script' | 'script' | 'refused';

/** The verdict, with the code that goes into the error's details. */
export interface FailureVerdict {
  readonly kind: FailureKind;
  readonly code: string;
}

/** Replies that say "not now": the same command can succeed later without anybody changing it. */
const NOT_NOW = new Set([
  'MISCONF',
  'OOM',
  'READONLY',
  'LOADING',
  'BUSY',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MASTERDOWN',
  'NOREPLICAS',
  'UNBLOCKED',
]);

/** Too many connections comes as a plain ERR; it passes by itself when others close theirs. */
const NOT_NOW_TEXT = /^ERR max number of clients/;

const FROM_SCRIPT = /user_script|Error (running|compiling) script|script: [0-9a-f]{40}/;

/**
 * Tells what a failed command means.
 * @returns the kind, and Redis' own code or the platform's.
 */
export function classifyFailure({ isReply, message, code }: RedisFailure): FailureVerdict {
  if (!isReply) return { kind: 'connection', code: code ?? 'CONNECTION' };
  const word = /^[A-Z]+(?=\s|$)/.exec(message)?.[0] ?? 'ERR';
  if (NOT_NOW.has(word) || NOT_NOW_TEXT.test(message)) return { kind: 'unavailable', code: word };
  if (word === 'NOSCRIPT') return { kind: 'no-script', code: word };
  return { kind: FROM_SCRIPT.test(message) ? 'script' : 'refused', code: word };
}
