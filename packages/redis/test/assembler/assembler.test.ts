import { describe, expect, it } from 'vitest';
import { assembleScript, piecesOf } from '../../src/assembler/assemble-script.js';
import {
  compareFolder,
  compareHeader,
  defineScript,
  loadScripts,
  STANDARD_INCLUDES,
} from '../../src/index.js';
import { FIXTURE_SCRIPTS, FIXTURES, fixtures } from '../fixture-scripts.js';

const FILES: Record<string, string> = {
  records: `-- defines: group, save
-- include: packing
local group, save, forget
do
  local seen = {}

  -- Reads it.
  function group(key)
    return seen[key] or unpacked(key)
  end

  local function clear(key)
    for n = 1, 2 do
      seen[key] = nil
    end
  end

  function forget(key) clear(key) end

  function save()
    redis.call('SET', KEYS[1], packed(seen))
  end
end
`,
  packing: `local packed, unpacked
local Deep = {}
do
  function packed(value) return cjson.encode(value) end

  function unpacked(value)
    return cjson.decode(value)
  end

  function Deep.copy(value)
    return unpacked(packed(value))
  end
end
`,
};
const assembled = (own: string) => assembleScript(piecesOf(own), (name) => piecesOf(FILES[name] ?? ''));
const has = (text: string, ...names: string[]) => names.filter((name) => text.includes(`function ${name}(`));
const ALL = ['group', 'clear', 'forget', 'save', 'packed', 'unpacked', 'Deep.copy'];

describe('assembleScript', () => {
  it('includes only what the script names and what that needs, in order', () => {
    const text = assembled('-- include: records\nlocal g = group(ARGV[1])\nreturn g\n');
    expect(has(text, ...ALL)).toEqual(['group', 'unpacked']);
    expect(text.indexOf('function unpacked(')).toBeLessThan(text.indexOf('function group('));
    expect(text.trimEnd().endsWith('local g = group(ARGV[1])\nreturn g')).toBe(true);
    expect(text).toContain('local seen = {}');
    expect(text).not.toContain('--');
  });

  it('follows names through functions of one line, of tables, and local functions', () => {
    expect(has(assembled('-- include: records\nforget(KEYS[1])\n'), ...ALL)).toEqual(['clear', 'forget']);
    expect(has(assembled('-- include: records\nsave()\n'), ...ALL)).toEqual(['save', 'packed']);
    const deep = assembled('-- include: records\nreturn Deep.copy(ARGV[1])\n');
    expect(has(deep, ...ALL)).toEqual(['packed', 'unpacked', 'Deep.copy']);
  });

  it('includes a file once and ignores names in comments', () => {
    const text = assembled('-- include: records\n-- include: packing\n-- save() would be too much\nreturn 1');
    expect(text.match(/local Deep = {}/g)).toHaveLength(1);
    expect(has(text, ...ALL)).toEqual([]);
  });

  it('leaves out declarations of names that are not needed', () => {
    expect(assembled('-- include: records\nreturn 1')).not.toMatch(/local (?:group|packed)/);
    expect(assembled('-- include: records\nreturn group(KEYS[1])')).toContain('local group\n');
  });

  it('replaces named numbers', () => {
    const text = assembled(
      "local G_LANE, G_HELD = 9, 13\nlocal other = 'A_B'\nreturn g[G_LANE] + g[G_HELD] + X_Y\n",
    );
    expect(text).toBe("local other = 'A_B'\nreturn g[9] + g[13] + X_Y\n");
  });

  it('keeps every line of its own file', () => {
    const own =
      'local function start(g)\n  local function inner()\n    return 1\n  end\n  return inner()\nend\nreturn start()\n';
    expect(assembled(own)).toBe(own);
  });
});

describe('loadScripts', () => {
  it('rejects a missing file and a missing include by name', () => {
    const missing = defineScript({ ...FIXTURE_SCRIPTS.count, file: new URL('nowhere.lua', FIXTURES) });
    const refusal = (part: string) =>
      expect.objectContaining({ code: 'REDIS_SCRIPT_INVALID', message: expect.stringContaining(part) });
    expect(() => loadScripts({ missing })).toThrow(refusal('nowhere.lua'));
    const includes = { now: '-- include: nothing\n' };
    expect(() => loadScripts(FIXTURE_SCRIPTS, { includes })).toThrow(refusal('no include nothing'));
  });
});

describe('compareHeader, compareFolder', () => {
  it('accept the fixtures and the standard includes', () => {
    expect(compareFolder(FIXTURES, fixtures)).toEqual([]);
    expect(compareFolder(STANDARD_INCLUDES, {})).toEqual([]);
  });

  it('name every difference', () => {
    const { count } = FIXTURE_SCRIPTS;
    const declaration = { ...count, name: 'other', keys: ['counter'], args: [], returns: 'something' };
    expect(compareHeader({ declaration })).toEqual([
      "count.lua: KEYS is declared as 'counter', the Lua file says 'counter seen'",
      "count.lua: ARGV is declared as 'none', the Lua file says 'operation steps...'",
      "count.lua: returns is declared as 'something', the Lua file says '{counter, now}'",
      'count.lua: the file must be called other.lua',
    ]);
  });

  it('name a Lua file without a declaration', () => {
    const { count } = fixtures;
    expect(compareFolder(FIXTURES, { count })).toEqual(['refuse.lua: no declaration names this file']);
  });
});
