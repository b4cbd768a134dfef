/** How the grace period is spent, each from the signal on or for itself. */
export interface GracePlan {
  /** What work gets to end by itself; then it is given back. */
  readonly workMs: number;
  /** What the last answers get to leave, when the work has ended. */
  readonly lastAnswersMs: number;
  /** When the process ends, whatever still hangs. */
  readonly exitMs: number;
}

const WORK_SHARE = 0.7;
const LAST_ANSWERS_SHARE = 0.1;
const LAST_ANSWERS_MAX_MS = 2_000;
const EXIT_SHARE = 0.9;
/** However long the grace period is, ending a process does not take longer. */
const EXIT_MAX_MS = 1_000;

/**
 * Divides the grace period: what work does not use is for giving back and closing, whatever the backends do.
 */
export function gracePlan(gracePeriodMs: number): GracePlan {
  return {
    workMs: Math.floor(gracePeriodMs * WORK_SHARE),
    lastAnswersMs: Math.min(LAST_ANSWERS_MAX_MS, Math.floor(gracePeriodMs * LAST_ANSWERS_SHARE)),
    exitMs: Math.max(Math.floor(gracePeriodMs * EXIT_SHARE), gracePeriodMs - EXIT_MAX_MS),
  };
}
