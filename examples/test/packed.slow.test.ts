import { execFile } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { isProcessGone, SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MillraceProcess, runServer } from '../../apps/server/test/process/millrace-process.js';
import { blocksOf } from '../../apps/server/test/process/readme-blocks.js';
import { packageProblems } from '../../scripts/check-packages.mjs';
import { root } from '../../scripts/command.mjs';
import { manifestOf } from '../../scripts/pack-packages.mjs';
import { packedProjects } from './packed-project.mjs';

const execute = promisify(execFile);

const folder = realpathSync(await mkdtemp(join(tmpdir(), 'millrace-packed-')));
let project: Awaited<ReturnType<typeof packedProjects>>;
beforeAll(async () => {
  project = await packedProjects(folder);
}, 240_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const evaluate = async (cwd: string, program: string) =>
  (await execute('node', ['--input-type=module', '-e', program], { cwd })).stdout;

describe('the packed packages', () => {
  it('ship what they need, with types, source maps and declared imports', async () => {
    const problems = await Promise.all(project.packages.map(packageProblems));
    expect(problems.flat(), 'remove dist and build again').toEqual([]);
  }, 120_000);

  it('are installed without a warning and without anything of the repository', () => {
    expect(project.warnings).not.toMatch(/ERESOLVE|deprecated|peer/i);
    for (const { name } of project.packages) {
      const path = join(project.path, 'node_modules', name);
      expect(realpathSync(path)).toBe(path);
    }
  });

  it('load from each of their entries, the main one without any optional package', async () => {
    const load = (names: readonly string[], cwd: string) =>
      evaluate(cwd, names.map((name) => `import '${name}';`).join('\n'));
    const entries = project.packages.flatMap(({ name, folder }) =>
      Object.keys(manifestOf(folder).exports).map((entry) => posix.join(name, entry)),
    );
    await load(
      entries.filter((entry) => !entry.endsWith('.json')),
      project.path,
    );
    expect(project.free.length).toBeGreaterThan(7);
    await load(
      project.free.map(({ name }) => name),
      project.bare,
    );
    const inside = load(['@millrace/runtime/dist/worker.js'], project.bare);
    await expect(inside).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED');
  });

  it('async-utils SC-006: compile under TypeScript 5.7 and both decorator systems', async () => {
    const compiler = join(root, 'node_modules/typescript-5.7/bin/tsc');
    const source = join(root, 'packages/async-utils/test/nestjs/packed/consumer.ts');
    await cp(source, join(project.path, 'consumer.ts'));
    const compile = async (experimentalDecorators: boolean) => {
      const config = join(project.path, `tsconfig.${experimentalDecorators}.json`);
      const compilerOptions = {
        ...{ module: 'nodenext', target: 'es2022', strict: true, noEmit: true, types: ['node'] },
        experimentalDecorators,
        // The declarations themselves are the same under both systems: one check is enough.
        skipLibCheck: !experimentalDecorators,
      };
      await writeFile(config, JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
      return execute(process.execPath, [compiler, '-p', config]).then(
        () => 'compiled',
        ({ stdout }: { stdout: string }) => stdout,
      );
    };
    expect(await Promise.all([compile(true), compile(false)])).toEqual(['compiled', 'compiled']);
  });

  it('async-utils FR-033: let a process end during a wait with unref, and hold it during others', async () => {
    const printed = (wait: string) =>
      evaluate(
        project.bare,
        `import { wait } from '@millrace/async-utils'; wait(${wait}).then(() => console.log('waited'));`,
      );
    expect(await Promise.all([printed('600_000, { unref: true }'), printed('50, {}')])).toEqual([
      '',
      'waited\n',
    ]);
  });
});

describe.each(['10', '12'])('applications on NestJS %s', (nest) => {
  /** Runs a copy of a program beside the packed packages and returns the JSON that it prints. */
  const run = async (program: string, ...args: string[]) => {
    const cwd = nest === '10' ? project.onNest10 : project.path;
    const copy = join(cwd, basename(program));
    await cp(join(root, program), copy);
    const { stdout } = await execute('node', [...SHORT_LIVED_PGLITE, copy, ...args], { cwd });
    return JSON.parse(stdout);
  };

  it('async-utils SC-006: decorators and interceptors retry, limit and time out', async () => {
    expect(await run('packages/async-utils/test/nestjs/packed/app.mjs')).toEqual({
      nest: expect.stringMatching(new RegExp(`^${nest}\\.`)),
      early: 4,
      work: [200, { tries: 4 }],
      scoped: [200, { tries: 6 }],
      flaky: [200, { calls: 3 }],
      hanging: [408, { statusCode: 408, message: 'Request Timeout' }],
    });
  });

  it('bulk-action BA-17: processors of several modules and two engines run', async () => {
    const seen = await run('packages/bulk-action/test/nestjs/fixtures/memory-application.mjs');
    expect(seen).toEqual({ nest, usual: 5, second: 1, shuttingDown: true });
  });

  it('outbox: DAGs of several modules run on an embedded database', async () => {
    const program = 'packages/outbox/test/nestjs/fixtures/embedded-application.mjs';
    const seen = await run(program, join(folder, `outbox-${nest}`));
    expect(seen).toEqual({ nest, results: [42, 42], state: 'STOPPED' });
  });

  it('orchestrator FR-5: operations are served over HTTP', async () => {
    expect(await run('packages/orchestrator/test/nestjs/fixtures/http-application.mjs')).toEqual({
      nest,
      completed: 42,
      accepted: 'IN_PROGRESS',
      events: ['start', 'end'],
      cancelled: 'CANCELLED',
      listed: 2,
      problem: [400, 'COMMAND_INVALID', 'domain'],
      state: 'STOPPED',
    });
  });
});

const README = readFileSync(join(root, 'examples/campaign-app/README.md'), 'utf8');
const TOTALS = { mails: 300, sent: 270, bounced: 30, cents: 540 };
const COMPLETED = { type: 'Ok', data: { results: { report: TOTALS } } };
const NEWCOMER = 'Your own work, in five minutes';
/** 30 words a minute, which is slow. */
const TYPED_PER_MINUTE = 150;

/** The request that the README of the example sends to a path. */
const commandFor = (path: string) => {
  const [, body = ''] = new RegExp(`${path}[^']*'[^']*' \\\\\\n  -d '(.*)'`).exec(README) ?? [];
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body };
};

const json = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

/** The outcome of a command, from its response or from the status URL in it. */
async function outcomeOf(url: string, { status, body }: Awaited<ReturnType<typeof json>>): Promise<unknown> {
  if (status === 200) return body.outcome ?? body;
  expect(status, JSON.stringify(body)).toBe(202);
  return (await json(`${url}${body.statusUrl}?wait=30`)).body.outcome;
}

async function expectCleanEnd(server: MillraceProcess) {
  server.kill('SIGTERM');
  expect(await server.ended, server.err()).toEqual({ code: 0, signal: null });
  expect(isProcessGone(server.pid())).toBe(true);
}

/** The servers share one database, one after the other: making a database takes longer than the rest of each test. */
const data = join(folder, '.millrace');

describe("a user's project", () => {
  it('takes a newcomer from the README to a first group of jobs in under five minutes of typing', async () => {
    const [install = '', app = '', start = '', submit = '', ...others] = blocksOf(NEWCOMER);
    expect(others).toEqual([]);
    // The same files have been installed.
    expect(install).toMatch(/^npm run pack .*\nmkdir .* npm init -y\nnpm install \S+\/\.packed\/\*\.tgz /);
    // A folder inside the project, which finds the command there.
    const place = join(project.path, 'newcomer');
    await mkdir(place);
    await writeFile(join(place, 'app.mjs'), app);
    const env = { ...project.env, PORT: '0', MILLRACE_DATA_DIR: data };
    await using server = runServer(['bash', '-c', `exec ${start}`], { env, folder: place });
    const url = await server.url();
    const page = await (await fetch(`${url}/groups/any`)).text();
    const loaded = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
    expect(loaded).toEqual(expect.arrayContaining([expect.stringMatching(/\.js$/)]));
    for (const path of loaded) expect((await fetch(`${url}${path}`)).status, path).toBe(200);
    const options = { cwd: place, env: { ...env, MILLRACE_URL: url } };
    const { stdout } = await execute('bash', ['-ec', submit], options);
    expect(stdout).toMatch(/^status +COMPLETED$/m);
    expect(server.out()).toContain('mail to bob@example.org');
    const typed = [install, app, start, submit].join('').replace(/ *(#|\/\/).*$/gm, '');
    expect(typed.length / TYPED_PER_MINUTE).toBeLessThan(5);
  });

  it('runs its application', async () => {
    const command = ['npm', 'start', '--', '--port', '0', '--data-dir', data] as const;
    await using server = runServer(command, { env: project.env, folder: project.path });
    const url = await server.url();
    const campaign = await json(`${url}/api/operations`, commandFor('/api/operations'));
    expect(await outcomeOf(url, campaign)).toMatchObject(COMPLETED);
    const say = (path: string, body: object) =>
      json(`${url}/api/chat/sessions${path}`, { ...commandFor(''), body: JSON.stringify(body) });
    await say('', { session_id: 'ada' });
    const { task_id: task } = (await say('/ada/queue', { message: 'How far is it?' })).body;
    const stream = await (await fetch(`${url}/api/chat/sessions/ada/tasks/${task}/stream`)).text();
    expect(stream).toMatch(/90 of 100 sent, 10 failed \(COMPLETED\)/);
    await expectCleanEnd(server);
  });

  it('runs inside its own NestJS', async () => {
    const env = { ...project.env, PORT: '0', DATA_DIR: join(data, 'database') };
    await using server = runServer(['npm', 'run', 'start:nest'], { env, folder: project.path });
    const url = await server.url();
    const campaign = await json(`${url}/campaigns`, commandFor('/campaigns'));
    expect(await outcomeOf(url, campaign)).toMatchObject(COMPLETED);
    const nameless = await json(`${url}/campaigns`, { ...commandFor(''), body: '{}' });
    expect(nameless).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
    await expectCleanEnd(server);
  });
});
