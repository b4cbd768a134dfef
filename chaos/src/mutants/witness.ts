/** The environment variable that names the mutant. Not MILLRACE_…: a server of the scenarios is started without those. */
export const MUTANT_NAME = 'CHAOS_MUTANT';

/** The environment variable that names the file of the witness. */
export const MUTANT_WITNESS = 'CHAOS_MUTANT_WITNESS';

/** One process that read the mutant's file, and why it could not be changed if it could not. */
interface WitnessLine {
  readonly pid: number;
  readonly problem?: string;
}

/**
 * Changes a text and says so.
 * @param change - gives the changed text, or throws.
 * @returns the changed text.
 * @throws what `change` throws.
 */
export function witnessed(change: () => string, append: (line: string) => void): string {
  const say = (line: WitnessLine) => append(`${JSON.stringify(line)}\n`);
  const { pid } = process;
  try {
    const text = change();
    say({ pid });
    return text;
  } catch (error) {
    say({ pid, problem: String((error as Error).message) });
    throw error;
  }
}

/**
 * Why a run shows nothing.
 * @param text - of the witness; empty when nobody wrote one.
 * @returns undefined when the mutant was read, and by nobody in vain.
 */
export function notApplied(text: string): string | undefined {
  const lines = text.split('\n').filter(Boolean);
  if (lines.length === 0) return 'mutant not applied: no process has read its file';
  const problem = lines.map((line) => JSON.parse(line) as WitnessLine).find((line) => line.problem)?.problem;
  return problem && `mutant not applied: ${problem}`;
}
