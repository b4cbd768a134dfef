import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isProcessGone, type PostgresSandbox, postgresSandbox, until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MillraceProcess, runMillrace } from './millrace-process.js';

const PACKAGES = fileURLToPath(new URL('../../../../node_modules', import.meta.url));
const APP = `
import { createRequire } from 'node:module';
import { inline } from '@millrace/orchestrator';
import { defineApp } from 'millrace';
import { greeting } from './greeting.mjs';

process.stderr.write('loaded by process ' + process.pid + '\\n');
const { mark } = createRequire(import.meta.url)('./mark.cjs');
export default defineApp({ routes: { 'SAY.HELLO': inline(() => greeting + mark) } });
`;
const SETTINGS = '{ "app": "./app.mjs" }';
/** Says that it is loaded, then lets nothing else run. */
const STUCK = `
process.stderr.write('stuck in process ' + process.pid + ' for ever');
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
`;
/** A server starts in a second or two, on a machine that has nothing else to do. */
const patiently = (what: string) => ({ what, deadlineMs: 40_000, intervalMs: 20 });

describe('millrace start --watch', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-watch-')));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  /** Another program, on the port of the servers. */
  const other = createServer();
  let database: PostgresSandbox;
  let port: number;
  let watched: MillraceProcess;
  let orphan: MillraceProcess;
  let stuck: MillraceProcess;
  const environment = () => ({ DATABASE_URL: database.url });
  const start = (...args: string[]) =>
    runMillrace(['start', '--watch', ...args], { folder, env: environment() });

  beforeAll(async () => {
    symlinkSync(PACKAGES, join(folder, 'node_modules'));
    write('app.mjs', APP);
    write('greeting.mjs', "export const greeting = 'Hello';");
    write('mark.cjs', "exports.mark = '!';");
    write('millrace.config.json', SETTINGS);
    write('stuck.mjs', STUCK);
    database = await postgresSandbox();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    port = (other.address() as AddressInfo).port;
    await using migration = runMillrace(['migrate'], { folder, env: environment() });
    expect(await migration.ended, migration.err()).toMatchObject({ code: 0 });
    watched = start('--port', String(port));
    orphan = start('--port', String(port));
    stuck = start('--app', 'stuck.mjs', '--port', '0');
  }, 60_000);
  afterAll(async () => {
    for (const started of [watched, orphan, stuck]) {
      started.kill('SIGKILL');
      const pid = lastPid(started);
      if (!isProcessGone(pid)) process.kill(pid, 'SIGKILL');
      await started.ended;
    }
    other.close();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  const answer = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/api/operations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ domain: 'SAY', eventType: 'HELLO', bizKey: crypto.randomUUID() }),
    });
    const { outcome } = (await response.json()) as { outcome?: { data?: unknown } };
    return outcome?.data;
  };
  const answers = (expected: string) =>
    until(async () => (await answer()) === expected, patiently(`the answer ${expected}`));
  const says = (what: string, by = watched) => until(() => by.err().includes(what), patiently(what));
  const lastPid = ({ err }: MillraceProcess) => Number([...err().matchAll(/process (\d+)/g)].at(-1)?.[1]);

  const gone = (its: MillraceProcess) =>
    until(() => isProcessGone(lastPid(its)), patiently('the server to end'));

  it('ends with its supervisor that is killed', async () => {
    await Promise.all([says('for ever', stuck), says('waiting for it', orphan)]);
    expect([orphan, stuck].map(lastPid).map(isProcessGone)).toEqual([false, false]);
    for (const { kill } of [orphan, stuck]) kill('SIGKILL');
    await gone(orphan);
    expect(orphan.err()).toContain('SIGHUP: stopping');
  });

  it('waits for its port, and serves when it is free', async () => {
    await says(`Port ${port} is in use: waiting for it; --port names another.\n`);
    other.close();
    expect(await watched.url()).toBe(`http://127.0.0.1:${port}`);
  });

  it('serves what was edited, at the same address, and starts for nothing else', async () => {
    await answers('Hello!');
    const first = lastPid(watched);
    // The same again, and what is no part of the application.
    write('app.mjs', readFileSync(join(folder, 'app.mjs'), 'utf8'));
    write('notes.txt', 'x');
    write('greeting.mjs~', "export const greeting = 'Good day';");
    renameSync(join(folder, 'greeting.mjs~'), join(folder, 'greeting.mjs'));
    await answers('Good day!');
    expect(isProcessGone(first)).toBe(true);
    expect(watched.err().match(/^.* changed: .*$/gm)).toEqual([
      'greeting.mjs has changed: starting anew (bulk jobs in memory are lost)',
    ]);
    // The rest of what it says at first is known by now.
    await says(`Millrace serves again: http://127.0.0.1:${port} (`);
    expect(watched.err().match(/^ {2}bulk jobs /gm)).toHaveLength(1);
  });

  it('waits while the settings or the application are broken, and serves when it is repaired', async () => {
    write('millrace.config.json', '{}');
    await says('when a file of an application changes: name the application (--app ./app.js)');
    await says('The server has ended with exit code 2; it is started anew when one of its files changes.');
    write('greeting.mjs', "export { greeting } from './words/english.mjs';");
    write('millrace.config.json', SETTINGS);
    await says("Cannot find module './words/english.mjs' imported from ./greeting.mjs");
    mkdirSync(join(folder, 'words'));
    write('words/english.mjs', "export const greeting = 'Welcome';");
    write('mark.cjs', "exports.mark = '?';");
    await answers('Welcome?');
  });

  it('ends in good order with its server', async () => {
    const pid = lastPid(watched);
    // Twice, as npm does.
    watched.kill('SIGTERM');
    watched.kill('SIGTERM');
    expect(await watched.ended).toEqual({ code: 0, signal: null });
    expect(watched.err().match(/^.*letting work end.*$/gm)).toEqual([
      'SIGHUP: letting work end, within 2.7 s.',
      'SIGHUP: letting work end, within 2.7 s.',
      'SIGTERM: letting work end, within 29 s.',
    ]);
    expect(isProcessGone(pid)).toBe(true);
  });

  it('ends with its supervisor even when it hangs', () => gone(stuck));
});
