import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FAULTS } from '../../chaos/src/faults.js';
import { testNames } from '../check-requirements.mjs';
import { root } from '../command.mjs';
import { parseSource } from '../source-files.mjs';

const text = readFileSync(join(root, 'docs/guarantees.md'), 'utf8');
const scenarios = new Set(FAULTS.flatMap((fault) => fault.scenarios));

/** The rows of every table with this head, as cells. */
const tablesWith = (head: string): string[][] =>
  text
    .split(`${head}\n`)
    .slice(1)
    .flatMap((rest) => /^\|[-|]+\|\n((?:\|.*\n)+)/.exec(rest)?.[1]?.trim().split('\n') ?? [])
    .map((line) => line.replace(/^\| | \|$/g, '').split(' | '));

const rows = tablesWith('| promise | proof |').map(([promise = '', proof = '']) => ({ promise, proof }));
const cells = tablesWith('| store | crash of a worker | crash of the store | crash of the machine |').flatMap(
  ([store = '', ...crashes]) => crashes.map((cell, at) => ({ store, crash: `crash ${at + 1}`, cell })),
);

/** The links of a proof: `[file](../path) "name of a test", "another name"`. */
const linksIn = (proof: string) =>
  [...proof.matchAll(/\[[^\]]+\]\(\.\.\/([^)]+)\)((?:,? "[^"]+")*)/g)].map(([, path = '', names = '']) => ({
    path,
    names: [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
  }));

/** The names in backticks after each link to the chaos test. */
const namedByChaos = (proof: string) =>
  [...proof.matchAll(/\(\.\.\/chaos\/test\/chaos\.slow\.test\.ts\)([^[]*)/g)].map(([, after = '']) =>
    inBackticks(after),
  );
const inBackticks = (part: string) => [...part.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
/** Settings and classes in backticks have capitals. */
const scenariosIn = (part: string) => inBackticks(part).filter((name) => /^[a-z\d]+(-[a-z\d]+)+$/.test(name));

function expectTests({ path, names }: { path: string; names: readonly string[] }): void {
  expect(existsSync(join(root, path)), path).toBe(true);
  expect(names.length, `${path}: a proof is [file](../path) "name of the test"`).toBeGreaterThan(0);
  const titles: string[] = testNames(parseSource(path, readFileSync(join(root, path), 'utf8')));
  for (const name of names)
    expect(
      titles.some((title) => title.includes(name)),
      `no test in ${path} is named "${name}"`,
    ).toBe(true);
}

const expectScenarios = (names: readonly string[]) => {
  for (const name of names) expect(scenarios, `no scenario is named ${name}`).toContain(name);
};

describe('docs/guarantees.md', () => {
  it('has promises, and the durability of every store', () => {
    expect(rows.length).toBeGreaterThan(5);
    expect(new Set(cells.map(({ store }) => store)).size).toBeGreaterThanOrEqual(5);
  });

  it.each(rows)('$promise', ({ proof }) => {
    const links = linksIn(proof);
    expect(links.length, 'a proof is [file](../path) "name of the test"').toBeGreaterThan(0);
    for (const link of links) expectTests(link);
    for (const names of namedByChaos(proof)) {
      expect(names.length, 'a link to the chaos test needs the name of a scenario').toBeGreaterThan(0);
      expectScenarios(names);
    }
  });

  it.each(cells)('what survives: $store, $crash', ({ cell }) => {
    const links = linksIn(cell);
    for (const link of links) expectTests(link);
    const names = scenariosIn(cell);
    expectScenarios(names);
    const isShown = links.length + names.length > 0;
    const isSaid = /^as .* promises.*not tested here$/.test(cell) || cell === 'the same process';
    expect(isShown || isSaid, 'a test, a scenario, or "as X promises, not tested here"').toBe(true);
  });

  it('names no scenario elsewhere that does not exist', () => {
    const rest = text.slice(text.indexOf('## What survives'));
    expect(scenariosIn(rest).length).toBeGreaterThan(5);
    expectScenarios(scenariosIn(rest));
  });
});
