import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { EXPECTED } from './expected-output.mjs';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('..', import.meta.url));

/** Files that several examples import. */
const SHARED = ['progress-bar.mjs'];

describe('examples', () => {
  const examples = readdirSync(folder).filter((name) => name.endsWith('.mjs') && !SHARED.includes(name));
  it('each have an expected output', () => expect(Object.keys(EXPECTED).sort()).toEqual(examples.sort()));

  it.concurrent.each(Object.entries(EXPECTED))('%s prints its expected output', async (name, texts) => {
    const { stdout } = await run('node', [...SHORT_LIVED_PGLITE, `${folder}${name}`]);
    for (const text of texts) expect(stdout).toMatch(text);
  });
});
