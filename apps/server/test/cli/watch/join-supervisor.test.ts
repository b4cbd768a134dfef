import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { loadWatched } from '../../../src/cli/watch/join-supervisor.js';
import { resolveApp } from '../../../src/compose/load-app.js';
import { type AppParts, type AppServices, partsOf } from '../../../src/define-app.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-threads-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The parts of an application, and what was watched besides its imports. */
async function load(name: string, given: string) {
  const file = join(folder, name);
  writeFileSync(file, `export default { [Symbol.for('millrace application')]: ${given} };`);
  const watched: string[] = [];
  const app = await loadWatched(file, {
    watch: (files) => void watched.push(...files),
    serves: () => {},
    flush: async () => {},
  });
  return { watched, resolve: () => resolveApp(partsOf(app) as AppParts, {} as AppServices) };
}

it.each([
  ['parts.mjs', ''],
  ['made.mjs', '() => '],
])('the modules of threads are watched: %s', async (name, prefix) => {
  const { watched, resolve } = await load(
    name,
    `${prefix}({ processors: [
      { type: 'a', thread: { module: 'file:///x/thread.mjs', name: 'run' } },
      { type: 'b', thread: { module: 'data:text/javascript,', name: 'run' } },
      { type: 'c', process() {} },
    ] })`,
  );
  expect(resolve().processors).toHaveLength(3);
  expect(watched).toEqual(['/x/thread.mjs']);
});

it.each([
  ['null.mjs', '() => null', 'defineApp needs an object'],
  ['throws.mjs', "() => { throw new Error('planted'); }", 'throws: planted'],
])('what is no application is refused as ever: %s', async (name, given, said) => {
  const { resolve } = await load(name, given);
  expect(resolve).toThrow(said);
});
