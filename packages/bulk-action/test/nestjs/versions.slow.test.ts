import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { nestConsumer } from '@millrace/testkit';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const packageDir = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = fileURLToPath(new URL('./fixtures/memory-application.mjs', import.meta.url));

it.each([
  ['10', resolve(packageDir, '../../fixtures/nest10')],
  ['12', packageDir],
])(
  'bulk-action BA-17: the built module runs in an application on NestJS %s, without Redis installed',
  async (nest, nestOf) => {
    using folder = await nestConsumer({ packageDir, parts: ['dist', 'lua'], nestOf });
    await cp(PROGRAM, join(folder.path, 'app.mjs'));
    const { stdout } = await run(process.execPath, ['app.mjs'], { cwd: folder.path });
    expect(JSON.parse(stdout)).toEqual({ nest, usual: 5, second: 1, shuttingDown: true });
  },
);
