import { FAULTS, gapsIn } from './faults.js';
import type { Scenario } from './registry.js';

/**
 * Every fault with the scenarios that bring it about, then what each scenario does; last, what of the table is not so.
 */
export function listOf(known: readonly Scenario[]): { readonly text: string; readonly isWhole: boolean } {
  const names = known.map(({ name }) => name);
  const gaps = gapsIn(FAULTS, names);
  const wrong = [
    ...gaps.missing.map((name) => `no scenario is named ${name}`),
    ...gaps.unnamed.map((name) => `no fault names ${name}`),
    ...gaps.unplayed.map((fault) => `no scenario plays: ${fault}`),
  ];
  const lines = [
    'Faults and the scenarios that bring them about:',
    ...FAULTS.map(({ fault, scenarios }) => `  ${fault}\n    ${scenarios.join(', ')}`),
    '',
    scenarioList(known),
    ...(wrong.length > 0 ? ['', 'Not so:', ...wrong.map((line) => `  ${line}`)] : []),
  ];
  return { text: lines.join('\n'), isWhole: wrong.length === 0 };
}

/** What each scenario does. */
export function scenarioList(known: readonly Scenario[]): string {
  const width = Math.max(...known.map(({ name }) => name.length));
  return ['Scenarios:', ...known.map(({ name, what }) => `  ${name.padEnd(width)}  ${what}`)].join('\n');
}
