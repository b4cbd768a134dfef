import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { thresholds } from '../../../vitest.config.js';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('..', import.meta.url));
const sizeLimit = fileURLToPath(new URL('../../../node_modules/.bin/size-limit', import.meta.url));

describe('the built package', () => {
  it('async-utils SC-007, async-utils SC-008: core ≤ 3.5 KB and full ≤ 8 KB, minified and gzipped', async () => {
    const { stdout } = await run(sizeLimit, ['--json'], { cwd: folder });
    const sizes = JSON.parse(stdout) as { name: string; size: number; passed: boolean; sizeLimit: number }[];
    console.log(
      sizes.map(({ name, size, sizeLimit: most }) => `${name}: ${size} of ${most} bytes`).join(', '),
    );
    expect(sizes.map(({ name, sizeLimit: most, passed }) => [name, most, passed])).toEqual([
      ['core', 3500, true],
      ['full', 8000, true],
    ]);
  });

  it('async-utils SC-009: coverage below 95 % of the lines fails the test run', () => {
    expect(thresholds).toMatchObject({ 'packages/async-utils/src/**': { lines: 95 } });
  });

  it('async-utils FR-033: a wait with unref lets the process end, one without holds it', async () => {
    const program = (options: string) => `
      import { wait } from '@millrace/async-utils';
      const startedAt = performance.now();
      process.on('exit', () => console.log(performance.now() - startedAt < 250 ? 'at once' : 'held'));
      wait(500, ${options});`;
    const ended = async (options: string) => {
      const { stdout } = await run('node', ['--input-type=module', '-e', program(options)], { cwd: folder });
      return stdout.trim();
    };
    expect(await ended('{ unref: true }')).toBe('at once');
    expect(await ended('{}')).toBe('held');
  });
});
