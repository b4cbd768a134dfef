import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { runMutants } from '../src/mutants/command.js';
import { fileRead, type Mutant, mutate } from '../src/mutants/mutate.js';
import { protectionsDocument, resultOf } from '../src/mutants/report.js';
import { MUTANTS } from '../src/mutants/table.js';
import { notApplied, witnessed } from '../src/mutants/witness.js';
import { registeredScenarios } from '../src/registry.js';
import '../src/scenarios/index.js';

const textOf = (file: string) =>
  readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8');

describe('the mutants of chaos', () => {
  it.each(MUTANTS)('$name is there exactly once, in the source and in what is run', (mutant) => {
    for (const file of new Set([mutant.file, fileRead(mutant)])) {
      const text = textOf(file);
      const changed = mutate(text, mutant);
      expect(changed.length - text.length).toBe(mutant.instead.length - mutant.takenOut.length);
    }
    expect(mutant.takenOut).not.toContain('\n');
  });

  it('are at least fourteen, of many scenarios that exist, each under its own name', () => {
    const known = registeredScenarios().map(({ name }) => name);
    expect(MUTANTS.filter(({ scenario }) => !known.includes(scenario))).toEqual([]);
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
    expect(MUTANTS.length).toBeGreaterThanOrEqual(14);
    expect(new Set(MUTANTS.map(({ scenario }) => scenario)).size).toBeGreaterThanOrEqual(10);
  });
});

const MUTANT: Mutant = {
  name: 'fence',
  protection: 'nobody else',
  scenario: 'meteor',
  seed: 7,
  file: 'packages/a/src/b/c.ts',
  takenOut: 'if (!mine) return;',
  instead: '',
  breaks: ['I4', 'I2'],
};
const SOURCE = 'const a = 1;\n  if (!mine) return;\ndo();';
const broken = (...invariants: string[]) =>
  invariants.map((invariant) => ({ invariant, held: false, evidence: `${invariant} | broke` }));

describe('taking a protection out', () => {
  it('reads the build of TypeScript and everything else as it is', () => {
    expect(fileRead(MUTANT)).toBe('packages/a/dist/b/c.js');
    expect(fileRead({ file: 'packages/a/lua/b.lua' })).toBe('packages/a/lua/b.lua');
  });

  it('refuses a text that is not there exactly once', () => {
    expect(mutate(SOURCE, MUTANT)).toBe('const a = 1;\n  \ndo();');
    expect(() => mutate('', MUTANT)).toThrow("'if (!mine) return;' is 0 times in packages/a/src/b/c.ts");
    expect(() => mutate(SOURCE + SOURCE, MUTANT)).toThrow('is 2 times');
  });

  it('leaves a witness of every process that read it, and of why one could not', () => {
    let text = '';
    const append = (line: string) => {
      text += line;
    };
    expect(notApplied(text)).toContain('no process has read its file');
    expect(witnessed(() => 'changed', append)).toBe('changed');
    expect(notApplied(text)).toBeUndefined();
    const refuse = () => witnessed(() => mutate('', MUTANT), append);
    expect(refuse).toThrow('is 0 times');
    expect(notApplied(text)).toContain('is 0 times');
  });
});

describe('what came of a mutant', () => {
  const resultWith = (invariants: string[], problem?: string) =>
    resultOf(MUTANT, { tookMs: 1, broken: broken(...invariants), problem }, SOURCE);

  it('is caught only when it was applied and an invariant broke that must', () => {
    expect(resultWith(['I1', 'I2'])).toMatchObject({ caught: true, line: 'packages/a/src/b/c.ts:2' });
    expect(resultWith(['I1'])).toMatchObject({ caught: false });
    expect(resultWith([])).toMatchObject({ caught: false });
    expect(resultWith(['I2'], 'mutant not applied')).toMatchObject({ caught: false });
    const played = { tookMs: 1, broken: broken('I4', 'I2'), problem: undefined };
    expect(resultOf({ ...MUTANT, says: 'I2 |' }, played, SOURCE)).toMatchObject({ caught: true });
    expect(resultOf({ ...MUTANT, says: 'twice' }, played, SOURCE)).toMatchObject({ caught: false });
  });

  it('is written down with what had to break first', () => {
    const document = protectionsDocument([resultWith(['I1', 'I2']), resultWith(['I1'])], []);
    expect(document).toContain('1 of 2 were caught, by 1 scenarios');
    expect(document).toContain('each scenario was green as it is');
    expect(protectionsDocument([], ['meteor'])).toContain('these were not green as they are: meteor.');
    expect(document).toContain('| `packages/a/src/b/c.ts:2`: `if (!mine) return;` → nothing |');
    expect(document).toContain('| I2; I1 | I2 \\| broke |');
    expect(document).toContain('| I1 (NOT caught) |');
  });
});

describe('npm run mutants', () => {
  it('says how it is called when it is called wrongly, and plays nothing', async () => {
    const told = vi.spyOn(console, 'error').mockImplementation(() => {});
    try {
      expect(await runMutants(['meteor'])).toBe(2);
      expect(await runMutants(['--write', 'settle-token'])).toBe(2);
      expect(await runMutants(['--write', '--no-baseline'])).toBe(2);
      expect(told.mock.calls.flat().join('\n')).toContain('settle-token');
      await expect(runMutants(['--hurry'])).rejects.toThrow(TypeError);
    } finally {
      told.mockRestore();
    }
  });
});
