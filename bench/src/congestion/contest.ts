import { aimdAlone, type ConcurrencyControl, vegasAlone } from './comparators.js';
import { driveByConcurrency } from './drive.js';
import type { ServiceBrief } from './hidden-service.js';
import type { ControllerOutcome } from './outcome.js';
import { durationMs } from './profile.js';
import { startService } from './service-process.js';

/** Somebody who calls a service as fast as it finds right. */
export interface Contestant {
  readonly name: string;
  /** What its limit counts. */
  readonly limitUnit: string;
  /** Calls until the time is over; answers its limit at every tick, NaN where it had none. */
  drive(
    url: string,
    options: { readonly workers: number; readonly forMs: number },
  ): Promise<readonly number[]>;
}

const byConcurrency = (name: string, control: () => ConcurrencyControl): Contestant => ({
  name,
  limitUnit: 'at once',
  drive: (url, options) => driveByConcurrency(url, control(), options),
});

/** What the engine is compared with. */
export const COMPARATORS: readonly Contestant[] = [
  byConcurrency('AIMD alone', aimdAlone),
  byConcurrency('Vegas alone', vegasAlone),
];

/**
 * Lets one after the other call a service of the same kind, each a new process: what one left behind would help the next.
 * @param workers - calls at once at most.
 * @param program - the built child, where it does not lie beside this file.
 */
export async function contest(
  brief: ServiceBrief,
  contestants: readonly Contestant[],
  workers: number,
  program?: string,
): Promise<ControllerOutcome[]> {
  const outcomes: ControllerOutcome[] = [];
  for (const { name, limitUnit, drive } of contestants) {
    const service = await startService(brief, program);
    try {
      const limits = await drive(service.url, { workers, forMs: durationMs(brief.phases) });
      outcomes.push({ controller: name, report: await service.report(), limits, limitUnit });
    } finally {
      await service.stop();
    }
  }
  return outcomes;
}
