import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('..', import.meta.url));

/** What a program beside the built package sees. */
async function evaluate(program: string): Promise<string> {
  const { stdout } = await run('node', ['--input-type=module', '-e', program], { cwd: folder });
  return stdout.trim();
}

describe('the facade', () => {
  it('runtime RT-10: exports what the specification names', async () => {
    const names = await evaluate("console.log(Object.keys(await import('@millrace/runtime')).join(' '))");
    for (const name of ['InMemoryQueue', 'Worker', 'ThreadPool', 'threadTask', 'TaskManager'])
      expect(names.split(' ')).toContain(name);
  });

  it('runtime RT-10: allows nothing deeper than its subpaths', async () => {
    for (const path of ['dist/worker.js', 'src/worker.ts', 'worker', 'lanes'])
      expect(
        await evaluate(`await import('@millrace/runtime/${path}').catch((error) => console.log(error.code))`),
      ).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
    for (const subpath of ['redis', 'chat', 'nestjs'])
      expect(
        await evaluate(`console.log(Object.keys(await import('@millrace/runtime/${subpath}')).length > 0)`),
      ).toBe('true');
  });
});
