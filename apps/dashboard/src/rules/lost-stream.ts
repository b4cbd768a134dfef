import { ProblemError } from '@millrace/contract/server-client';
import { problemText } from './problems.js';

/** Why there is no stream, and when to ask for one again. */
export interface LostStream {
  /** refused: the server is there, and gives none. */
  readonly status: 'lost' | 'refused';
  /** Why it is refused, in words for people. */
  readonly problem: string | undefined;
  readonly pauseMs: number;
}

const FIRST_PAUSE_MS = 500;
const PAUSE_MAX_MS = 5_000;

/**
 * What it means that a stream has ended.
 * @param error - with which it did; undefined: without one.
 * @param failures - tries in a row that brought nothing, before this one.
 */
export function lostStream(error: unknown, failures: number): LostStream {
  const problem = error instanceof ProblemError ? error : undefined;
  const pauseMs = problem?.retryAfterMs ?? Math.min(PAUSE_MAX_MS, FIRST_PAUSE_MS * 2 ** failures);
  // What is 500 and above may be said by a proxy in the place of a server that is away.
  return problem && problem.status < 500
    ? { status: 'refused', problem: problemText(problem), pauseMs }
    : { status: 'lost', problem: undefined, pauseMs };
}
