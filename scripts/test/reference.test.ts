import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeReference, REFERENCE } from '../reference.mjs';

it('docs/reference.md has every option with its default, as the sources have them; each is explained', async () => {
  const { text, problems } = await makeReference();
  expect(problems).toEqual([]);
  expect(text, '`npm run docs` writes it anew').toBe(readFileSync(REFERENCE, 'utf8'));
  expect(text.match(/^\| `/gm)?.length).toBeGreaterThan(200);
});
