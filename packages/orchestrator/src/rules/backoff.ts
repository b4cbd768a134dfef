/** How long to wait between tries. */
export interface BackoffSettings {
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  readonly backoffJitter: number;
}

/**
 * The wait after a try that failed: doubles with each, up to a most; a share is added at random, so that those who failed together do not
 * come back together.
 * @param attempt - number of the try that failed, from 1.
 * @param random - 0 to 1.
 */
export function backoffMs(attempt: number, settings: BackoffSettings, random: number): number {
  const { backoffBaseMs, backoffMaxMs, backoffJitter } = settings;
  const delayMs = backoffBaseMs * 2 ** Math.min(attempt - 1, 60);
  return Math.min(backoffMaxMs, Math.round(delayMs * (1 + backoffJitter * random)));
}
