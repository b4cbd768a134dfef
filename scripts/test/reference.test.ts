import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeReference, REFERENCE } from '../reference.mjs';

it('docs/reference.md has every option with its default and its comment', async () => {
  const text = await makeReference();
  expect(text, '`npm run docs` writes it').toBe(readFileSync(REFERENCE, 'utf8'));
  expect(text.match(/^\| `/gm)?.length).toBeGreaterThan(200);
});
