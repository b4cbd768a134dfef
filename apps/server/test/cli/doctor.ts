import type { SidedFinding } from '../../src/cli/doctor/examine.js';
import { type CapturedOptions, runCaptured } from './captured.js';

/** What `millrace doctor --json` has said. */
export interface Diagnosis {
  readonly exitCode: number;
  readonly ok: boolean;
  readonly findings: readonly SidedFinding[];
  /** As it was written. */
  readonly text: string;
  /** The findings of a check. */
  of(check: string): readonly SidedFinding[];
}

/** Runs `millrace doctor --json`. */
export async function diagnose(args: readonly string[], options: CapturedOptions): Promise<Diagnosis> {
  const captured = runCaptured(['doctor', '--json', ...args], options);
  const exitCode = await captured.exitCode;
  const text = captured.out();
  if (text === '') throw new Error(`nothing was said: ${captured.err()}`);
  const { ok, findings } = JSON.parse(text) as Pick<Diagnosis, 'ok' | 'findings'>;
  return { exitCode, ok, findings, text, of: (check) => findings.filter((one) => one.check === check) };
}
