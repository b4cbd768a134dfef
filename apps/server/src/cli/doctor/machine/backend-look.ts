import type { Finding } from '../finding.js';
import type { ClockOffset } from '../rules/clocks.js';

/** How long a backend may take to answer: one that takes longer is no use to a server either. */
export const ANSWER_MS = 2_000;

/** What a look at a backend has shown. */
export interface BackendLook {
  readonly findings: readonly Finding[];
  /** undefined: it did not say what time it is. */
  readonly clock: ClockOffset | undefined;
}
