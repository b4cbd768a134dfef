import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isProcessGone } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MillraceProcess, runMillrace, runNpmStart } from './millrace-process.js';
import { blocksOf } from './readme-blocks.js';

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const shellBlocks = (section: string) => blocksOf(section, 'sh');
/** Imports find the packages from there. */
const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/', import.meta.url));
const APP = join(CACHE, `millrace-readme-${process.pid}.mjs`);
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const ADDRESS = 'http://127.0.0.1:3000';
const bash = promisify(execFile);

describe('npm start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-readme-'));
  const start = (...args: string[]) => runMillrace(['start', '--port', '0', ...args], { folder });
  let server: MillraceProcess;
  let url: string;
  beforeAll(async () => {
    mkdirSync(CACHE, { recursive: true });
    server = runNpmStart('--port', '0', '--data-dir', join(folder, '.millrace'));
    url = await server.url();
  }, 60_000);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
    rmSync(APP, { force: true });
  });

  /** Runs the lines of a block in the repository, asking this server. */
  const run = async (code: string) => {
    const env = { ...process.env, MILLRACE_URL: url };
    const options = { timeout: 50_000, cwd: ROOT, env };
    const { stdout } = await bash('bash', ['-ec', code.replaceAll(ADDRESS, url)], options);
    return stdout;
  };

  it('says where it is, what it keeps where, and what does not survive, and is ready', async () => {
    const said = server.err();
    expect(said).toContain(`serves ${url} (role all, process ${server.pid()}, embedded)`);
    expect(said).toContain(join(folder, '.millrace'));
    expect(said).toContain('PGlite does not fsync');
    expect(said).toMatch(/bulk jobs +in memory: they end with this process/);
    expect(said).toContain('without a key');
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
  });

  it('does what the README says: a command, a group, a batch and a chat, each to its end', async () => {
    const [commands = '', command = '', chat = '', ...others] = shellBlocks('Try it');
    expect(others).toEqual([]);
    const said = await run(commands);
    for (const text of ['Hello, Ada', 'newsletter', 'COMPLETED', 'demo-settle', 'DONE', 'No failures'])
      expect(said).toContain(text);
    expect(JSON.parse(await run(command))).toMatchObject({
      outcome: { type: 'Ok', data: { greeting: 'Hello, Ada' } },
    });
    const stream = await run(chat);
    expect(stream).toMatch(/^event: start$/m);
    expect(stream.match(/^event: token$/gm)?.length).toBeGreaterThan(0);
    expect(stream.trimEnd()).toMatch(/event: done\n.*$/);
  });

  it('answers the programs of the contract’s README, and the lines of the tutorial on chats', async () => {
    const programs = [...read('packages/contract/README.md').matchAll(/^```ts\n([\s\S]*?)^```$/gm)];
    expect(programs).toHaveLength(2);
    for (const [, code = ''] of programs) {
      writeFileSync(APP, code.replaceAll(ADDRESS, url));
      const said = (await bash('node', [APP])).stdout;
      for (const [, line] of code.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm))
        expect(said.split('\n')).toContain(line);
      expect(said.trim()).not.toBe('');
    }
    const [, chat = ''] =
      /^```sh\n([\s\S]*?)^```$/m.exec(read('docs/tutorials/streaming-chat-turn.md')) ?? [];
    expect((await run(chat)).trimEnd()).toMatch(/event: done\n.*$/);
  });

  it('is alone with its data: a second process is refused and told who has it', async () => {
    await using second = start();
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.err()).toContain(`is open in process ${server.pid()} on `);
    expect(second.err().trim().split('\n')).toHaveLength(1);
  });

  it('takes its data over after kill −9, with the application of its own README, and has lost nothing that it had said', async () => {
    const [, code = ''] = /^```js\n([\s\S]*?)^```$/m.exec(read('apps/server/README.md')) ?? [];
    writeFileSync(APP, code);
    process.kill(server.pid(), 'SIGKILL');
    await server.ended;
    server = start('--app', APP);
    url = await server.url();
    const submit = (domain: string, eventType: string, payload: object) =>
      run(
        `curl -s ${ADDRESS}/api/operations -H 'content-type: application/json' -d '${JSON.stringify({ domain, eventType, bizKey: eventType, payload, timeBudgetMs: 5_000 })}'`,
      ).then(JSON.parse);
    const placed = await submit('ORDER', 'PLACE', { price: 3, count: 4 });
    expect(placed).toMatchObject({ outcome: { type: 'Ok', data: { total: 12 } } });
    const sent = await submit('MAIL', 'CAMPAIGN', { to: ['ada@example.com'] });
    expect(sent, JSON.stringify(sent)).toMatchObject({ outcome: { type: 'Ok' } });
    expect(await submit('DAY', 'CLOSE', {})).toMatchObject({ outcome: { type: 'Ok' } });
    const answer = await fetch(`${url}/api/batches?bizKey=monday`);
    const { items } = (await answer.json()) as { items: unknown[] };
    expect(items).toEqual([expect.objectContaining({ status: 'DONE' })]);
    server.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  it('hands signals on: npm ends with what the server ends with', async () => {
    await using npm = runNpmStart('--port', '0', '--data-dir', join(folder, '.millrace'));
    await npm.url();
    npm.kill('SIGTERM');
    expect(await npm.ended).toEqual({ code: 0, signal: null });
    expect(isProcessGone(npm.pid())).toBe(true);
  });
});
