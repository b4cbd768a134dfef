import { expect, it } from 'vitest';
import { PAGE_ROUTES, PATHS, VIEWS } from '../src/index.js';

const PAGE = [...PAGE_ROUTES.views, PAGE_ROUTES.asset];

it('the page has a row for every view, and one for its files', () => {
  const paths = PAGE.map(({ path }) => path);
  expect(paths).toEqual([...Object.values(VIEWS), '/assets/{file}']);
  expect(new Set(paths).size).toBe(paths.length);
});

it('anybody may look at the page, and nothing of it stands in the way of the API', () => {
  for (const { method, role, tenancy } of PAGE)
    expect([method, role, tenancy]).toEqual(['GET', 'none', 'open']);
  // By what comes first, since a parameter would match anything after it.
  const first = (path: string) => path.split('/')[1];
  const taken = new Set(Object.values(PATHS).map(([, path]) => first(path)));
  expect(PAGE.filter(({ path }) => taken.has(first(path) ?? ''))).toEqual([]);
});
