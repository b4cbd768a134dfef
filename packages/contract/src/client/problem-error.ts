import type { Problem } from '../problem.js';

/** The server refused, and says why. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  /** What the server sent (RFC 9457). */
  readonly problem: Problem;
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  /** When to come back, where the server said so. */
  readonly retryAfterMs: number | undefined;

  constructor(problem: Problem, retryAfterMs?: number) {
    super(`${problem.code}: ${problem.detail}`);
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
    this.retryable = problem.retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server, or something before it, asks for patience: the same request may be sent again. */
export const BUSY_STATUSES: readonly number[] = [429, 502, 503, 504];

/** The error of an answer that is not 2xx. */
export function problemErrorOf(response: Response, body: string): ProblemError {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = seconds >= 0 ? seconds * 1000 : undefined;
  return new ProblemError(parsed(body) ?? foreign(response), retryAfterMs);
}

function parsed(body: string): Problem | undefined {
  try {
    const problem = JSON.parse(body) as Problem | null;
    return typeof problem?.code === 'string' ? problem : undefined;
  } catch {
    return undefined;
  }
}

/** Not from Millrace: a proxy, or another server at this address. */
const foreign = ({ status, statusText }: Response): Problem => ({
  type: 'about:blank',
  title: statusText,
  status,
  detail: `The answer was ${status} ${statusText}, without a problem in it`,
  code: `HTTP_${status}`,
  retryable: BUSY_STATUSES.includes(status),
});
