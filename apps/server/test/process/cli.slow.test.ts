import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PgliteDatabase } from '@millrace/postgres';
import { type PostgresSandbox, pgliteFolder, postgresSandbox } from '@millrace/testkit';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allCommands, programOf } from '../../src/cli/program.js';
import { capturedSurroundings } from '../cli/captured.js';
import { type MillraceProcess, runMillrace } from './millrace-process.js';

const CLI = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
/** Moves the cursor or clears a line: only bars do. */
const BAR = '\u001b[';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const folder = mkdtempSync(join(tmpdir(), 'millrace-cli-'));
let database: PostgresSandbox;
let server: MillraceProcess;
let url: string;
beforeAll(async () => {
  database = await postgresSandbox();
  using template = await pgliteFolder(async (dataDir) => {
    await using made = new PgliteDatabase({ dataDir });
    await made.start();
  });
  // As a first start leaves it, which takes longer than all commands here.
  cpSync(template.dataDir, join(folder, 'data/database'), { recursive: true });
  server = runMillrace(['start', '--port', '0', '--data-dir', join(folder, 'data')], { folder });
  url = await server.url();
}, 60_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
}, 60_000);

/** Which commands were run. */
const ran = new Set<string>(['start']);

const variables = () => ({ PATH: process.env.PATH, MILLRACE_URL: url, HOME: folder });

function execute(file: string, args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(file, args, { cwd: folder, env, timeout: 50_000 }, (error, out, err) =>
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : -1) : 0, out, err }),
    );
    child.stdin?.end(input);
  });
}

/** Runs a command as a user would, without a terminal. */
function millrace(args: string, { env = {}, input = '' } = {}): Promise<Ran> {
  const words = args.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", '')) ?? [];
  for (const length of [1, 2]) ran.add(words.slice(0, length).join(' '));
  return execute(process.execPath, [CLI, ...words], { ...variables(), ...env }, input);
}

/** Runs a command in a terminal; both outputs come as one. */
const inTerminal = (args: string, env: Record<string, string> = {}): Promise<Ran> =>
  execute('script', ['-qec', `stty cols 100 rows 40; '${process.execPath}' '${CLI}' ${args}`, '/dev/null'], {
    ...variables(),
    TERM: 'xterm',
    ...env,
  });

/** A command that ends well, whose data is JSON. */
async function jsonOf(args: string, input?: string): Promise<Record<string, unknown>> {
  const { code, out, err } = await millrace(`${args} --json`, { input });
  expect({ code, err: code === 0 ? '' : err }, args).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as Record<string, unknown>;
}

const JOB = (id: string, payload: object) => JSON.stringify({ id, processorType: 'demo.work', payload });

describe('every command as a process against a running server', () => {
  it('operations: submit, show, wait, cancel, list', async () => {
    const done = await jsonOf(`submit op DEMO.GREET --payload '{"name":"Ada"}' --biz-key ada --wait`);
    expect(done).toMatchObject({ outcome: { type: 'Ok', data: { greeting: 'Hello, Ada' } } });
    const { opId } = done as { opId: string };
    expect(await jsonOf(`ops show ${opId}`)).toMatchObject({ opId, bizKey: 'ada' });
    expect(await jsonOf(`ops wait ${opId}`)).toMatchObject({ opId });
    expect(await jsonOf('ops list --biz-key ada')).toMatchObject({ items: [{ opId }] });
    expect(await millrace(`ops cancel ${opId}`)).toMatchObject({ out: expect.stringContaining(opId) });
    // The kind of work may be left out.
    const words = await millrace(`submit DEMO.GREET --payload '{"name":"Bob"}' --wait`);
    expect(words).toMatchObject({ code: 0, out: expect.stringContaining('Hello, Bob') });
  });

  it('groups and jobs: submit from a file, watch, show, pause, resume, set, seal, cancel', async () => {
    writeFileSync(join(folder, 'jobs.ndjson'), `${JOB('a', { ms: 1 })}\n${JOB('b', { ms: 1 })}\n`);
    const watched = await millrace('submit group mail --jobs jobs.ndjson --watch');
    expect(watched).toMatchObject({ code: 0, out: expect.stringContaining('COMPLETED') });
    expect(watched.err + watched.out).not.toContain(BAR);
    expect(await jsonOf('groups watch mail')).toMatchObject({ id: 'mail', status: 'COMPLETED' });
    expect((await millrace('groups list')).out).toMatch(/^mail +COMPLETED/m);
    expect((await millrace('groups show mail')).out).toContain('COMPLETED');
    expect(await jsonOf('jobs show mail a')).toMatchObject({ id: 'a' });
    expect(await jsonOf('jobs list mail')).toMatchObject({ items: [{ id: 'a' }, { id: 'b' }] });

    await jsonOf('submit group slow --jobs - --open', JOB('later', { ms: 60_000 }));
    expect(await jsonOf('groups pause slow')).toMatchObject({ paused: true });
    expect((await millrace('jobs explain slow later')).out).toMatch(/^Job later of group slow is PROCESSING/);
    expect(await jsonOf('groups resume slow')).toMatchObject({ paused: false });
    expect(await jsonOf('groups set slow --weight 3 --rps none')).toMatchObject({ weight: 3, rps: null });
    expect(await jsonOf('tenants set acme --weight 2')).toMatchObject({ id: 'acme', weight: 2 });
    expect(await jsonOf('tenants show acme')).toMatchObject({ id: 'acme', weight: 2 });
    expect((await millrace('tenants list')).code).toBe(0);
    expect((await millrace('groups seal slow')).code).toBe(0);
    expect((await millrace('groups cancel slow')).code).toBe(0);
    // What has ended badly is a failure.
    expect(await millrace('groups watch slow')).toMatchObject({
      code: 1,
      out: expect.stringContaining('CANCELLED'),
    });
  });

  it('dead letters: list, redrive, purge, only when it is said how many', async () => {
    const failing = await millrace(
      `submit group broken --processor demo.work --payload '{"ms":0,"fail":"always"}' --count 2 --watch`,
    );
    expect(failing.out).toMatch(/COMPLETED|FAILED/);
    expect((await millrace('dlq list --by-signature')).out).toMatch(/^ +[12] .* demo\.work [A-Z_]+ /m);
    expect(await jsonOf('dlq list --group broken')).toMatchObject({ items: [{}, {}] });
    expect(await millrace('dlq purge --all')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--yes'),
    });
    expect((await millrace('dlq redrive --group broken --expect 7')).code).toBe(1);
    expect((await millrace('dlq redrive --group broken --yes')).code).toBe(0);
    await millrace('groups watch broken');
    expect((await millrace('dlq purge --group broken --expect 2')).code).toBe(0);
    expect(await jsonOf('dlq list')).toMatchObject({ items: [] });
  });

  it('batches and DAGs: apply, list, submit, show, watch, retry, abort', async () => {
    const dags = await jsonOf('dags list');
    expect(JSON.stringify(dags)).toContain('demo-settle');
    writeFileSync(join(folder, 'broken.json'), '{ "name": "x", "tasks": {} }');
    expect(await millrace('dags apply broken.json')).toMatchObject({ code: 1, out: '' });
    const started = await millrace('submit batch demo-settle --biz-key monday --watch');
    expect(started).toMatchObject({ code: 0, out: expect.stringContaining('DONE') });
    const { items } = (await jsonOf('batches list --biz-key monday')) as { items: { id: string }[] };
    const id = items[0]?.id ?? '';
    expect(await jsonOf(`batches show ${id}`)).toMatchObject({ batch: { id, status: 'DONE' } });
    expect((await millrace(`batches watch ${id}`)).code).toBe(0);
    // It has ended well: nothing to do is done, but what was asked to end had ended in another way.
    expect(await millrace(`batches retry ${id}`)).toMatchObject({
      code: 0,
      out: `Batch ${id} is DONE: there is nothing to run again.\n`,
    });
    expect(await millrace(`batches abort ${id}`)).toMatchObject({
      code: 1,
      out: `Batch ${id} is DONE: it had ended before.\n`,
    });
  });

  it('settings, tables, care: config, migrate, doctor, completion, bench', async () => {
    expect((await millrace('config')).out).toMatch(/^port +3000 +\(default\)$/m);
    const env = { DATABASE_URL: database.url, MILLRACE_SCHEMA: 'cli_process' };
    expect((await millrace('migrate', { env })).out).toMatch(/^applied /m);
    expect((await millrace('migrate', { env })).out).toContain('up to date');
    const care = await millrace('doctor --seconds 1');
    expect(care, care.err).toMatchObject({ code: 0, out: expect.stringContaining('ok') });
    expect((await millrace('completion bash')).out).toContain('complete ');
    const measured = await jsonOf('bench --jobs 200 --operations 20');
    expect(measured).toMatchObject({ jobs: { count: 200 }, operations: { count: 20, refused: 0 } });
  });

  it('was run, each of them', async () => {
    const program = await programOf(capturedSurroundings().surroundings, () => {});
    const pathOf = (command: Command): string[] =>
      command.parent ? [...pathOf(command.parent), command.name()] : [];
    const leaves = allCommands(program)
      .filter((command) => command.commands.length === 0 && command.name() !== 'help')
      .map((command) => pathOf(command).join(' '));
    // In a terminal, below.
    const others = new Set(['demo']);
    expect(leaves.filter((path) => !ran.has(path) && !others.has(path))).toEqual([]);
  });
});

describe('exit codes', () => {
  it('are 1 for what is not there, 2 for what cannot be meant', async () => {
    expect(await millrace('groups show nobody')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('nobody'),
    });
    expect(await millrace('groups shwo mail')).toMatchObject({
      code: 2,
      err: expect.stringContaining('Did you mean show?'),
    });
    expect((await millrace('groups set mail')).code).toBe(2);
  });
});

describe('in a terminal', () => {
  it('a watched group has a bar with its rate and what is left, and without one there is none', async () => {
    const submit = `submit group seen-N --processor demo.work --payload '{"ms":300}' --count 30 --watch`;
    const { code, out } = await inTerminal(submit.replace('N', '1'));
    expect(code).toBe(0);
    expect(out).toContain(BAR);
    expect(out).toMatch(/█+/);
    expect(out).toMatch(/\/s|per second/);
    expect(out).toContain('COMPLETED');
    const plain = await millrace(submit.replace('N', '2'));
    expect(plain.code).toBe(0);
    expect(plain.out + plain.err).not.toContain(BAR);
    expect(plain.out + plain.err).not.toContain('█');
  });

  it('lists have colours, and none with NO_COLOR', async () => {
    expect((await inTerminal('groups list')).out).toContain('\u001b[2m');
    expect((await inTerminal('groups list', { NO_COLOR: '1' })).out).not.toContain('\u001b[2m');
  });

  it('the demo shows everybody and their shares, and what it leaves can be asked for', async () => {
    const { code, out } = await inTerminal('demo --seconds 10 --whale-jobs 2000');
    expect(code, out.slice(-2000)).toBe(0);
    expect(out).toContain(BAR);
    for (const word of ['whale', 'fair', 'chat', 'dead']) expect(out.toLowerCase()).toContain(word);
    const { items } = (await jsonOf('groups list --tenant demo-whale')) as { items: unknown[] };
    expect(items).toHaveLength(1);
  });
});
