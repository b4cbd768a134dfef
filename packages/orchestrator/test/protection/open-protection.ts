import { type Latch, latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { expect } from 'vitest';
import { type ProtectionOptions, resolveProtectionOptions } from '../../src/protection/options.js';
import { type Permit, Protection, type RunEnd } from '../../src/protection/protection.js';

/** Work that the test ends. */
export interface HandWork {
  readonly end: (value: string | Error) => void;
  /** The signals of its attempts. */
  readonly signals: AbortSignal[];
  readonly outcome: Promise<RunEnd<string>>;
  readonly abort: (reason?: unknown) => void;
}

/** Makes a protection with a manual clock. */
export function openProtection(options: ProtectionOptions) {
  const clock = new ManualClock({ monotonicMs: 5_000 });
  const { log, lines } = recordingLogger();
  const resolved = resolveProtectionOptions('test', options, { idempotent: true });
  const protection = new Protection({ route: 'A.B', options: resolved, clock, logger: log });

  const admitted = (): Permit => {
    const answer = protection.admit();
    if ('refusal' in answer) throw new Error(`refused: ${JSON.stringify(answer.refusal)}`);
    return answer.permit;
  };
  const refusal = () => {
    const answer = protection.admit();
    return 'refusal' in answer ? answer.refusal : expect.fail('was let through');
  };
  const run = (
    permit: Permit,
    work: (signal: AbortSignal) => Promise<string> | string,
    signal?: AbortSignal,
  ) =>
    protection.run(permit, work, {
      signal: signal ?? new AbortController().signal,
      isFailure: (value) => value === 'bad',
    });

  /** Time at which the work of each call began. */
  const starts: number[] = [];

  /** Begins work that the test ends. All its attempts end together. */
  const begin = (permit = admitted()): HandWork => {
    const ended: Latch<string | Error> = latch('the work ends');
    const caller = new AbortController();
    const signals: AbortSignal[] = [];
    const outcome = run(
      permit,
      async (signal) => {
        if (signals.push(signal) === 1) starts.push(clock.monotonicMs());
        const value = await ended.promise;
        if (value instanceof Error) throw value;
        return value;
      },
      caller.signal,
    );
    outcome.catch(() => {}); // The test handles it.
    return { end: ended.open, signals, outcome, abort: (reason) => caller.abort(reason) };
  };
  /** Runs calls that end at once: `.` succeeds, `x` throws, `b` returns a failing value. */
  const calls = async (outcomes: string) => {
    for (const outcome of outcomes) {
      await run(admitted(), () => {
        if (outcome === 'x') throw new Error('work failed');
        return outcome === 'b' ? 'bad' : 'good';
      }).catch(() => {});
    }
  };
  return { clock, lines, protection, admitted, refusal, run, begin, calls, starts };
}
