import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FAULTS, gapsIn } from '../src/faults.js';
import { listOf } from '../src/list.js';
import { INVARIANTS } from '../src/matrix.js';

const document = new URL('../../docs/chaos.md', import.meta.url);
const page = readFileSync(document, 'utf8');

describe('the table of faults', () => {
  it('finds scenarios that do not exist or that no fault names, and faults that nobody plays', () => {
    const faults = [
      { fault: 'rain', scenarios: ['shower', 'flood'] },
      { fault: 'snow', scenarios: [] },
    ];
    expect(gapsIn(faults, ['shower', 'drought'])).toEqual({
      missing: ['flood'],
      unnamed: ['drought'],
      unplayed: ['snow'],
    });
    const whole = { missing: [], unnamed: [], unplayed: [] };
    expect(gapsIn(faults.slice(0, 1), ['flood', 'shower'])).toEqual(whole);
  });

  it('names no fault twice', () => {
    const faults = FAULTS.map(({ fault }) => fault);
    expect(new Set(faults).size).toBe(faults.length);
  });

  it('is printed with what each scenario does, and is not whole when a scenario is missing', () => {
    const names = [...new Set(FAULTS.flatMap(({ scenarios }) => scenarios))];
    const known = names.map((name) => ({ name, what: `does ${name}`, run: async () => [] }));
    const { text: list, isWhole } = listOf(known);
    expect(isWhole).toBe(true);
    for (const { fault, scenarios } of FAULTS)
      expect(list).toContain(`  ${fault}\n    ${scenarios.join(', ')}\n`);
    for (const { what } of known) expect(list).toContain(what);
    const less = listOf(known.slice(1));
    expect(less.isWhole).toBe(false);
    expect(less.text).toContain(`no scenario is named ${names[0]}`);
  });

  it('is that of docs/chaos.md', () => {
    const [, body = ''] = /^\| fault \| scenarios \|\n\|---\|---\|\n((?:\|.*\n)+)/m.exec(page) ?? [];
    const rows = FAULTS.map(
      ({ fault, scenarios }) => `| ${fault} | ${scenarios.map((name) => `\`${name}\``).join(', ')} |`,
    );
    expect(body.trim().split('\n')).toEqual(rows);
  });
});

describe('docs/chaos.md', () => {
  it('has every invariant with its checkers, in files that exist', () => {
    const rows = [...page.matchAll(/^\| (I\d+) \| [^|]+ \| ([^|]+) \|$/gm)];
    expect(rows.map(([, name]) => name)).toEqual(INVARIANTS);
    for (const [, name, checkers = ''] of rows) expect(checkers, name).toMatch(/\]\(/);
    const links = [...page.matchAll(/\]\((\.\.\/[^)#]+)\)/g)].map(([, path = '']) => path);
    for (const path of links) expect(existsSync(new URL(path, document)), path).toBe(true);
  });
});
