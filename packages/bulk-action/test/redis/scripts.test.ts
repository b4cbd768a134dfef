import { readFileSync } from 'node:fs';
import { compareFolder, loadScripts, STANDARD_INCLUDES } from '@millrace/redis';
import { describe, expect, it } from 'vitest';
import { BULK_SCRIPTS } from '../../src/redis/scripts.js';

const scripts = loadScripts(BULK_SCRIPTS);

describe('the Lua files', () => {
  it('say what their declarations say, both ways', () => {
    expect(compareFolder(new URL('../../lua/', import.meta.url), scripts)).toEqual([]);
  });

  it('with another now nothing else differs', () => {
    const now = 'local function nowUs() return 0 end';
    const shipped = readFileSync(new URL('now.lua', STANDARD_INCLUDES), 'utf8').replace(/^--.*\n/gm, '');
    for (const [name, { source }] of Object.entries(loadScripts(BULK_SCRIPTS, { includes: { now } }))) {
      const original = scripts[name as keyof typeof scripts].source;
      expect(source).toBe(original.replace(shipped, () => `${now}\n`));
    }
  });

  it('read no clock but now', () => {
    for (const { source } of Object.values(scripts)) {
      expect(source.match(/'TIME'/g)?.length ?? 0).toBe(source.includes('local function now()') ? 1 : 0);
    }
  });
});
