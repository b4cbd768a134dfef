import { pluralize } from '../show/amounts.js';
import type { Colours } from '../show/printer.js';
import { safeText } from '../show/text.js';
import type { SidedFinding } from './examine.js';
import type { Level } from './finding.js';

const HEADINGS = { machine: 'This machine', server: 'The server' } as const;
const LEVEL_WIDTH = 'failure'.length;
const INDENT = ' '.repeat(LEVEL_WIDTH + 2);

/** The lines that show a finding; with a heading when it is the first of its side. */
export function linesOf(
  found: SidedFinding,
  before: SidedFinding | undefined,
  colours: Colours,
): readonly string[] {
  const { side, level, title, seen, action } = found;
  const heading = before?.side === side ? [] : [...(before ? [''] : []), colours.bold(HEADINGS[side])];
  return [
    ...heading,
    `${colourOf(level, colours)(level.padEnd(LEVEL_WIDTH))}  ${safeText(title)}`,
    ...(seen === null ? [] : [`${INDENT}${colours.dim(safeText(seen))}`]),
    ...(action === null || level === 'ok' ? [] : [`${INDENT}→ ${safeText(action)}`]),
  ];
}

/** What to remember of it all. */
export function verdictOf(findings: readonly SidedFinding[]): string {
  const count = (level: Level) => findings.filter((one) => one.level === level).length;
  const [failures, warnings] = [count('failure'), count('warning')];
  const bad = [
    ...(failures > 0 ? [pluralize(failures, 'failure')] : []),
    ...(warnings > 0 ? [pluralize(warnings, 'warning')] : []),
  ];
  return bad.length === 0 ? 'No failures, no warnings.' : `${bad.join(', ')}.`;
}

function colourOf(level: Level, colours: Colours): (text: string) => string {
  const { green, cyan, yellow, red } = colours;
  return { ok: green, note: cyan, warning: yellow, failure: red }[level];
}
