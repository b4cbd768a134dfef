import type { Verdict } from '../registry.js';
import { lineOf, type Mutant } from './mutate.js';
import type { Played } from './play.js';

/** What came of a mutant. */
export interface MutantResult extends Mutant {
  /** Seeds before this one that did not show it. */
  readonly inVain: readonly number[];
  readonly tookMs: number;
  /** File and number of the line that was taken out. */
  readonly line: string;
  readonly broken: readonly Verdict[];
  readonly problem: string | undefined;
  readonly caught: boolean;
}

const EVIDENCE_MAX = 160;

/** Whether a mutant was noticed: applied, and one of the invariants broke that must. */
export const resultOf = (
  mutant: Mutant,
  played: Played,
  source: string,
  inVain: readonly number[] = [],
): MutantResult => ({
  ...mutant,
  ...played,
  inVain,
  line: `${mutant.file}:${lineOf(source, mutant)}`,
  caught: played.problem === undefined && played.broken.some((verdict) => isExpected(verdict, mutant)),
});

const isExpected = (
  { invariant, evidence }: Verdict,
  { breaks, says = '' }: Pick<Mutant, 'breaks' | 'says'>,
): boolean => breaks.includes(invariant) && evidence.includes(says);

/** The names of what broke, those that had to first. */
export const brokenNames = (result: MutantResult): string =>
  result.problem ??
  (expectedFirst(result)
    .map(({ invariant }) => invariant)
    .join('; ') ||
    'nothing');

/** What the checker of the invariant that had to break said. */
export function firstEvidence(result: MutantResult): string {
  const [first] = expectedFirst(result);
  const evidence = (first?.evidence ?? '').split('\n')[0] ?? '';
  return evidence.length > EVIDENCE_MAX ? `${evidence.slice(0, EVIDENCE_MAX)}…` : evidence;
}

const expectedFirst = (result: MutantResult): readonly Verdict[] =>
  [...result.broken].sort(
    (one, other) => Number(isExpected(other, result)) - Number(isExpected(one, result)),
  );

/** Which run showed it. */
export const runName = ({ scenario, seed, full = false, inVain }: MutantResult): string =>
  `${scenario}, seed ${seed}${full ? ', full' : ''}${inVain.length > 0 ? ` (not by ${inVain.join(', ')})` : ''}`;

const cell = (text: string): string => text.replaceAll('|', '\\|');
const code = (text: string): string => (text === '' ? 'nothing' : `\`${cell(text)}\``);

/**
 * The document: each protection, the line that was taken out, and what broke.
 * @param red - runs that were not green with every protection in its place.
 */
export function protectionsDocument(results: readonly MutantResult[], red: readonly string[]): string {
  const caught = results.filter((result) => result.caught).length;
  const scenarios = new Set(results.map(({ scenario }) => scenario));
  const rows = results.map((result) => {
    const { name, protection, line, takenOut, instead } = result;
    return `| ${[
      `**${name}**: ${cell(protection)}`,
      `${code(line)}: ${code(takenOut)} → ${code(instead)}`,
      runName(result),
      `${cell(brokenNames(result))}${result.caught ? '' : ' (NOT caught)'}`,
      cell(firstEvidence(result)),
    ].join(' | ')} |`;
  });
  return `${[
    '# Protections',
    '',
    'A scenario that stays green without the line it is there for proves nothing. So each of these lines is taken out in turn, and the',
    'scenario must break. Written by `npm run mutants -- --write`; run it for some of them with `npm run mutants -- NAME …`. The scenario is',
    'played as it is first, by the same seed, and must be green (`--no-baseline` leaves that out). Nothing on the disk is changed: every process of the run reads the',
    'changed text in place of the file (`chaos/src/mutants/hook.ts`). What is taken out is in `chaos/src/mutants/table.ts`; `npm test` checks that each is still there',
    'exactly once. Where it is a matter of chance whether the faults find work that the line is for, some seeds are played in turn until one shows it.',
    '',
    `${caught} of ${results.length} were caught, by ${scenarios.size} scenarios, in short runs unless "full" is said. Before that ${
      red.length === 0
        ? 'each scenario was green as it is'
        : `these were not green as they are: ${red.join('; ')}`
    }.`,
    '',
    '| protection | taken out → in its place | scenario | what broke | what was said of the first |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n')}\n`;
}
