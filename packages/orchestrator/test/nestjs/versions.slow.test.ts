import { execFile } from 'node:child_process';
import { cp, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { nestConsumer } from '@millrace/testkit';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const packageDir = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = fileURLToPath(new URL('./fixtures/http-application.mjs', import.meta.url));
const NEST_10 = resolve(packageDir, '../../fixtures/nest10');

it.each([
  ['10', NEST_10, join(NEST_10, 'node_modules')],
  ['12', packageDir, resolve(packageDir, '../../node_modules')],
])(
  'orchestrator FR-5: the built module serves operations over HTTP on NestJS %s',
  async (nest, nestOf, modules) => {
    using folder = await nestConsumer({ packageDir, parts: ['dist', 'sql'], nestOf });
    await symlink(
      join(modules, '@nestjs/platform-fastify'),
      join(folder.path, 'node_modules/@nestjs/platform-fastify'),
    );
    await cp(PROGRAM, join(folder.path, 'app.mjs'));
    const { stdout } = await run(process.execPath, ['app.mjs'], { cwd: folder.path });
    expect(JSON.parse(stdout)).toEqual({
      nest,
      completed: 42,
      accepted: 'IN_PROGRESS',
      events: ['start', 'end'],
      cancelled: 'CANCELLED',
      listed: 2,
      problem: [400, 'COMMAND_INVALID', 'domain'],
      state: 'STOPPED',
    });
  },
);
