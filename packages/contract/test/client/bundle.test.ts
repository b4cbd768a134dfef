import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

const ENTRY = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url));

it('orchestrator FR-5: the client holds no zod, nothing of Node, and is below 5 KB in a page', async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    // Anything of Node would not resolve.
    platform: 'browser',
  });
  const inputs = Object.keys(metafile.inputs);
  expect(
    inputs.filter((path) => !path.includes('packages/contract/src/') && !path.startsWith('src/')),
  ).toEqual([]);
  expect(inputs.filter((path) => /operations\.ts|problem\.ts|zod/.test(path))).toEqual([]);
  const [bundle] = outputFiles;
  const bytes = bundle?.contents ?? new Uint8Array();
  expect(bytes.length).toBeGreaterThan(500);
  expect(bytes.length).toBeLessThan(5_000);
  expect(gzipSync(bytes).length).toBeLessThan(2_500);
});
