import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

it.each([
  ['client', 5_000],
  ['server-client', 10_000],
])('orchestrator FR-5: %s has no zod and nothing of Node, and is below %i bytes', async (entry, bytesMax) => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL(`../src/client/${entry}.ts`, import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    // A module of Node would not resolve.
    platform: 'browser',
  });
  const names = Object.keys(metafile.inputs).map((path) => path.replace(/^.*src\//, ''));
  const others = names.filter((name) => name !== 'paths.ts' && !name.startsWith('client/'));
  expect(others).toEqual([]);
  const { length } = outputFiles[0]?.contents ?? [];
  expect(length).toBeGreaterThan(500);
  expect(length).toBeLessThan(bytesMax);
});
