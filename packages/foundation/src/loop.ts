import type { Clock } from './clock.js';
import { toWorkError } from './errors.js';
import type { Logger } from './logger.js';
import type { Rng } from './rng.js';

/** The dependencies of a loop. */
export interface LoopKit {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
}

/** Work that repeats until it is stopped. */
export interface Loop {
  /** Runs the work at once, and again after each pause. Does nothing if the loop runs already. */
  start(): void;
  /** Runs the work now, or once more after the run in progress. Does nothing while the loop is stopped. */
  trigger(): void;
  /** Ends the loop and waits for the run in progress. */
  stop(): Promise<void>;
}

/** Pauses are up to this share shorter, so that instances drift apart. */
const JITTER = 0.2;

/**
 * Makes a loop that runs `work` every `everyMs`, counted from the end of one run to the start of the next. Only one run
 * is in progress at a time. A failure is logged and the work runs again after the pause.
 * @param name - in the imperative, for the log: `Prune finished batches`.
 * @param options - `unref: true` lets the process exit during a pause.
 */
export function loop(
  { clock, rng, logger }: LoopKit,
  name: string,
  everyMs: number,
  work: () => Promise<unknown>,
  options?: { readonly unref?: boolean },
): Loop {
  let isStopped = true;
  let isDue = false;
  let running: Promise<void> | undefined;
  let cancelPause = () => {};

  const run = async () => {
    cancelPause();
    while (isDue && !isStopped) {
      isDue = false;
      try {
        await work();
      } catch (error) {
        logger.warn({ code: toWorkError(error).code, err: error }, `${name} failed, will retry`);
      }
    }
    running = undefined;
    if (!isStopped) cancelPause = clock.setTimer(everyMs * (1 - JITTER * rng.next()), trigger, options);
  };
  const trigger = () => {
    if (isStopped) return;
    isDue = true;
    running ??= run();
  };

  return {
    start() {
      if (!isStopped) return;
      isStopped = false;
      trigger();
    },
    trigger,
    async stop() {
      isStopped = true;
      cancelPause();
      await running;
    },
  };
}
