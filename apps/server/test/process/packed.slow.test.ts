import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isProcessGone, SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MillraceProcess, runServer } from './millrace-process.js';
import { blocksOf } from './readme-blocks.js';
import { installExample, type UsersFolder } from './users-folder.js';

const README = readFileSync(new URL('../../../../examples/campaign-app/README.md', import.meta.url), 'utf8');
const TOTALS = { mails: 300, sent: 270, bounced: 30, cents: 540 };
const COMPLETED = { type: 'Ok', data: { results: { report: TOTALS } } };
const NEWCOMER = 'Your own work, in five minutes';
/** Of somebody who types 30 words a minute, which is slow. */
const TYPED_PER_MINUTE = 150;
/** What npx runs for a newcomer, below. */
const BIN = 'node_modules/millrace/bin/millrace.js';
const ENDED = { code: 0, signal: null };

const execute = promisify(execFile);

let user: UsersFolder;
let bare: MillraceProcess;
beforeAll(async () => {
  user = await installExample();
  // It needs nothing that is built, so it starts while that is.
  bare = runServer(
    [process.execPath, ...SHORT_LIVED_PGLITE, join(user.project, BIN), 'start', '--port', '0'],
    { env: user.env, folder: user.empty },
  );
  await user.npm('run', 'build');
}, 240_000);
afterAll(async () => {
  await bare?.[Symbol.asyncDispose]();
  await user?.[Symbol.asyncDispose]();
}, 60_000);

/** The command that the README has for an address. */
const commandFor = (path: string) => {
  const [, body = ''] = new RegExp(`${path}[^']*'[^']*' \\\\\\n  -d '(.*)'`).exec(README) ?? [];
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body };
};

const json = async (url: string, init?: RequestInit) => {
  const answer = await fetch(url, init);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};

/** The outcome of a command: in the answer, or where the answer says it will be. */
async function outcomeOf(url: string, { status, body }: Awaited<ReturnType<typeof json>>): Promise<unknown> {
  if (status === 200) return body.outcome ?? body;
  expect(status, JSON.stringify(body)).toBe(202);
  return (await json(`${url}${body.statusUrl}?wait=30`)).body.outcome;
}

/** Of all of them, one after the other: to make a database takes longer than anything else here. */
const data = () => join(user.empty, '.millrace');

describe('the packed packages in a project of a user', () => {
  it('are installed without a conflict, and with nothing of the repository', () => {
    expect(user.warnings).not.toMatch(/ERESOLVE|deprecated|peer/i);
    const modules = join(user.project, 'node_modules');
    for (const name of ['millrace', '@millrace/foundation', '@millrace/outbox'])
      expect(realpathSync(join(modules, name))).toBe(join(realpathSync(modules), name));
    expect(existsSync(join(modules, 'millrace/test'))).toBe(false);
  });

  it('serve with no application and no settings, from an empty folder', async () => {
    await using server = bare;
    const url = await server.url();
    expect((await json(`${url}/health/ready`)).status).toBe(200);
    const docs = `${url}/api/docs`;
    const [, style = ''] = /rel="stylesheet" href="([^"]+)"/.exec(await (await fetch(docs)).text()) ?? [];
    expect((await fetch(new URL(style, docs))).headers.get('content-type')).toMatch('text/css');
    const page = await (await fetch(`${url}/groups/any`)).text();
    const loaded = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(loaded).toEqual(expect.arrayContaining([expect.stringMatching(/\.js$/)]));
    for (const path of loaded) expect((await fetch(`${url}${path}`)).status, path).toBe(200);
    expect(existsSync(join(user.empty, '.millrace'))).toBe(true);
    server.kill('SIGTERM');
    expect(await server.ended, server.err()).toEqual(ENDED);
  });

  it('take a newcomer from the README alone to a first group of jobs, in under five minutes of typing', async () => {
    const [install = '', app = '', start = '', submit = '', ...others] = blocksOf(NEWCOMER);
    expect(others).toEqual([]);
    // The same files were installed before.
    expect(install).toMatch(/^npm run pack .*\nmkdir .* npm init -y\nnpm install \S+\/\.packed\/\*\.tgz /);
    const folder = join(user.empty, 'newcomer');
    await mkdir(folder);
    await writeFile(join(folder, 'app.mjs'), app);
    const env = { ...user.env, PORT: '0', MILLRACE_DATA_DIR: data() };
    await using server = runServer(['bash', '-c', `exec ${start}`], { env, folder });
    const url = await server.url();
    const options = { cwd: folder, env: { ...env, MILLRACE_URL: url } };
    const { stdout } = await execute('bash', ['-ec', submit], options);
    expect(stdout).toMatch(/^status +COMPLETED$/m);
    expect(server.out()).toContain('mail to bob@example.org');
    const typed = [install, app, start, submit].join('').replace(/ *(#|\/\/).*$/gm, '');
    expect(typed.length / TYPED_PER_MINUTE).toBeLessThan(5);
  });

  it('run its application', async () => {
    const command = ['npm', 'start', '--', '--port', '0', '--data-dir', data()] as const;
    await using server = runServer(command, { env: user.env, folder: user.project });
    const url = await server.url();
    const campaign = await json(`${url}/api/operations`, commandFor('/api/operations'));
    expect(await outcomeOf(url, campaign)).toMatchObject(COMPLETED);
    const say = (path: string, body: object) =>
      json(`${url}/api/chat/sessions${path}`, { ...commandFor(''), body: JSON.stringify(body) });
    await say('', { session_id: 'ada' });
    const { task_id: task } = (await say('/ada/queue', { message: 'How far is it?' })).body;
    const stream = await (await fetch(`${url}/api/chat/sessions/ada/tasks/${task}/stream`)).text();
    expect(stream).toMatch(/90 of 100 sent, 10 failed \(COMPLETED\)/);
    server.kill('SIGTERM');
    expect(await server.ended, server.err()).toEqual(ENDED);
    expect(isProcessGone(server.pid())).toBe(true);
  });

  it('run inside its own NestJS', async () => {
    const env = { ...user.env, PORT: '0', DATA_DIR: join(data(), 'database') };
    await using server = runServer(['npm', 'run', 'start:nest'], { env, folder: user.project });
    const url = await server.url();
    const campaign = await json(`${url}/campaigns`, commandFor('/campaigns'));
    expect(await outcomeOf(url, campaign)).toMatchObject(COMPLETED);
    const nameless = await json(`${url}/campaigns`, { ...commandFor(''), body: '{}' });
    expect(nameless).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
    server.kill('SIGTERM');
    expect(await server.ended, server.err()).toEqual(ENDED);
  });
});
