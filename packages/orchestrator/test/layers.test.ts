import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** From the bottom up: a file of one layer imports only from those below it, and from its own. */
const LAYERS: readonly (readonly [string, readonly string[]])[] = [
  ['types and state machine', ['errors', 'states', 'op-id', 'outcome', 'model']],
  ['ports', ['ports']],
  ['Orchestrator and OperationHandle', ['operation-handle', 'orchestrator']],
];

const importsOf = (file: string): string[] => {
  const text = readFileSync(new URL(`../src/${file}.ts`, import.meta.url), 'utf8');
  return [...text.matchAll(/from '\.\/([^']+)\.js'/g)].map(([, path]) => path as string);
};

describe('imports inside the package', () => {
  it.each(LAYERS.map(([name, files], index) => [name, files, index] as const))(
    'orchestrator NFR-2: %s point down only',
    (_, files, index) => {
      const allowed = LAYERS.slice(0, index + 1).flatMap(([, below]) => below);
      for (const file of files)
        expect(
          importsOf(file).filter((path) => !allowed.includes(path)),
          file,
        ).toEqual([]);
    },
  );

  it('orchestrator NFR-2: the front door knows the executor and the store by their ports only', () => {
    const known = importsOf('inline-fast-path-runner');
    for (const path of ['route-executor', 'run-inline', 'memory/store', 'postgres/store'])
      expect(known).not.toContain(path);
  });
});
