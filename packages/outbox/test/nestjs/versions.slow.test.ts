import { execFile } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PgliteDatabase } from '@millrace/postgres';
import { nestConsumer, pgliteFolder } from '@millrace/testkit';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const packageDir = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = fileURLToPath(new URL('./fixtures/embedded-application.mjs', import.meta.url));
const NEST_10 = resolve(packageDir, '../../fixtures/nest10');

// On the Nest of the workspace the build runs in shutdown.serial.test.ts.
it('outbox: the built module runs in an application on NestJS 10', async () => {
  using data = await pgliteFolder(async (dataDir) => {
    await using made = new PgliteDatabase({ dataDir });
    await made.start();
  });
  using folder = await nestConsumer({ packageDir, parts: ['dist', 'sql'], nestOf: NEST_10 });
  await cp(PROGRAM, join(folder.path, 'app.mjs'));
  const { stdout } = await run(process.execPath, ['app.mjs', data.dataDir], { cwd: folder.path });
  expect(JSON.parse(stdout)).toEqual({ nest: '10', results: [42, 42], state: 'STOPPED' });
});
