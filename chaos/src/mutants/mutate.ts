/** A protection that is taken out, and the scenario that must notice. */
export interface Mutant {
  readonly name: string;
  /** What the line that is taken out sees to. */
  readonly protection: string;
  readonly scenario: string;
  readonly seed: number;
  /** Played in turn until one shows it, where it is a matter of chance whether the faults find work that the protection is for. */
  readonly moreSeeds?: readonly number[];
  /** Whether it takes the full run to show it; a short one unless given. */
  readonly full?: boolean;
  /** From the root of the repository. What runs of a file of TypeScript is its build, so its text must be the same there. */
  readonly file: string;
  /** Within one line. */
  readonly takenOut: string;
  /** What stands in its place; nothing when it is empty. */
  readonly instead: string;
  /** Invariants of the scenario, one of which breaks at least. */
  readonly breaks: readonly string[];
  /** A part of what is said of that one, where its name alone would fit any other breakdown. */
  readonly says?: string;
}

/**
 * The file that processes read: the source itself, or the build of TypeScript.
 * @returns from the root of the repository.
 */
export const fileRead = ({ file }: Pick<Mutant, 'file'>): string =>
  file.replace(/\/src\/(.*)\.ts$/, '/dist/$1.js');

/**
 * Takes the protection out.
 * @returns the text without it.
 * @throws Error unless it is there exactly once: whoever moves or rewords a protection has to say where it is now.
 */
export function mutate(text: string, { name, file, takenOut, instead }: Mutant): string {
  const times = text.split(takenOut).length - 1;
  if (times !== 1) throw new Error(`${name}: '${takenOut}' is ${times} times in ${file}, expected once`);
  return text.replace(takenOut, () => instead);
}

/**
 * Where it is, for people.
 * @returns the number of the line, from 1.
 */
export const lineOf = (text: string, { takenOut }: Pick<Mutant, 'takenOut'>): number =>
  text.slice(0, text.indexOf(takenOut)).split('\n').length;
