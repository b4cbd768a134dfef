import { transform } from 'esbuild';
import type { Plugin } from 'vitest/config';

const here = '/test/nestjs/standard/';
const shared = /^\.\.\/\w+-suite\.js$/;

/**
 * Compiles the standard decorators of this folder's tests, and of the suites that they share with the legacy tests: Vite's
 * own compiler knows the legacy ones only. The query makes the second compilation a module of its own.
 */
export function standardDecorators(): Plugin {
  return {
    name: 'standard-decorators',
    enforce: 'pre',
    async resolveId(source, importer) {
      if (!importer?.includes(here) || !shared.test(source)) return undefined;
      const file = await this.resolve(source, importer, { skipSelf: true });
      return file && `${file.id}?standard`;
    },
    async transform(code, id) {
      if (!id.includes(here) && !id.endsWith('?standard')) return undefined;
      const { code: js, map } = await transform(code, {
        loader: 'ts',
        target: 'es2022',
        sourcemap: 'external',
        sourcefile: id,
        tsconfigRaw: { compilerOptions: { experimentalDecorators: false } },
      });
      return { code: js, map };
    },
  };
}
