import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

it.each([
  ['client', 5_000, 2_500],
  ['server-client', 10_000, 5_000],
])(
  'orchestrator FR-5: %s has no zod and nothing of Node, and is small in a page',
  async (entry, bytesMax, gzippedMax) => {
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
    const names = Object.keys(metafile.inputs).map((path) =>
      path.replace(/^(packages\/contract\/)?src\/(client\/)?/, ''),
    );
    const allowed = ['client.ts', 'http.ts', 'paths.ts', 'server-client.ts', 'timing.ts'];
    expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
    const bytes = outputFiles[0]?.contents ?? new Uint8Array();
    expect(bytes.length).toBeGreaterThan(500);
    expect(bytes.length).toBeLessThan(bytesMax);
    expect(gzipSync(bytes).length).toBeLessThan(gzippedMax);
  },
);
