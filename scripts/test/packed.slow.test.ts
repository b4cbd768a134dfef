import { execFile } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { isProcessGone, SHORT_LIVED_PGLITE } from '@millrace/testkit';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MillraceProcess, runServer } from '../../apps/server/test/process/millrace-process.js';
import { blocksOf } from '../../apps/server/test/process/readme-blocks.js';
import { thresholds } from '../../vitest.config.js';
import { root, tool } from '../command.mjs';
import { manifestOf, SOURCE_CONDITION } from '../pack-packages.mjs';
import { importsOf, type PackedPackage, type PackedProject, packedProject, runIn } from './packed-project.js';

const execute = promisify(execFile);

let project: PackedProject;
let packages: readonly PackedPackage[];
let bare: MillraceProcess;
beforeAll(async () => {
  project = await packedProject();
  packages = project.packages;
  // It starts while the project is built.
  const command = [process.execPath, ...SHORT_LIVED_PGLITE, join(project.path, BIN)] as const;
  bare = runServer([...command, 'start', '--port', '0'], { env: project.env, folder: project.empty });
  await project.npm('run', 'build');
}, 240_000);
afterAll(async () => {
  await bare?.[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
}, 60_000);

/** Applies a rule to every package. */
const problems = (rule: (packed: PackedPackage) => readonly string[]) =>
  packages.flatMap((packed) => rule(packed).map((problem) => `${packed.name}: ${problem}`));

const CODE = /^(dist\/.+\.(js|cjs|d\.ts|d\.cts)|bin\/[a-z-]+\.js)$/;
const SHIPPED = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
  CODE,
  /^dist\/.+\.map$/,
  /^src\/.+\.c?ts$/,
  /^lua\/[a-z-]+\.lua$/,
  /^sql\/(verbs\/)?[0-9a-z-]+\.sql$/,
  /^assets\/[a-z-]+\.css$/,
  /^template\/pglite-[\d.]+\.tar\.br$/,
  // The endings that the server serves.
  /^page\/(index\.html|licenses\.md|assets\/[\w.-]+\.(js|css|svg|woff2))$/,
];

describe('each package', () => {
  it('ships what it needs and nothing else', () => {
    const extra = problems(({ files }) => files.filter((path) => !SHIPPED.some((each) => each.test(path))));
    expect(extra).toEqual([]);
    const { devDependencies } = manifestOf('packages/postgres');
    const needed = {
      millrace: ['page/index.html', 'page/licenses.md'],
      '@millrace/postgres': [`template/pglite-${devDependencies['@electric-sql/pglite']}.tar.br`],
    };
    const missing = problems(({ name, files }) =>
      ['README.md', 'LICENSE', 'CHANGELOG.md', ...(needed[name as keyof typeof needed] ?? [])].filter(
        (path) => !files.includes(path),
      ),
    );
    expect(missing).toEqual([]);
  });

  it('has a complete manifest, without the condition that points to TypeScript', () => {
    for (const { name, manifest } of packages) {
      expect(manifest, name).toMatchObject({
        description: expect.any(String),
        license: 'MIT',
        type: 'module',
        engines: { node: expect.any(String) },
        keywords: expect.arrayContaining([expect.any(String)]),
        // Otherwise npm publishes a scoped package as a private one.
        ...(name.startsWith('@') && { publishConfig: { access: 'public' } }),
      });
      expect(JSON.stringify(manifest.exports), name).not.toContain(SOURCE_CONDITION);
      const { peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
      expect(Object.keys(peerDependencies), name).toEqual(
        expect.arrayContaining(Object.keys(peerDependenciesMeta)),
      );
    }
  });

  it('passes publint and are-the-types-wrong', async () => {
    const found = packages.map(async ({ name, manifest, tarball }) => {
      const { messages } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
      const checked = await checkPackage(createPackageFromTarballData(tarball));
      // An ESM package is not meant for TypeScript's old resolution, nor for `require`.
      const wrong = (checked.types ? checked.problems : []).filter(
        (problem) => !('resolutionKind' in problem && /^(node10|node16-cjs)$/.test(problem.resolutionKind)),
      );
      return [...messages.map((message) => formatMessage(message, manifest)), ...wrong].map(
        (problem) => `${name}: ${JSON.stringify(problem)}`,
      );
    });
    expect((await Promise.all(found)).flat()).toEqual([]);
  });

  it('has a source map with its source for all its code', () => {
    const wrong = problems(({ files, read }) =>
      files
        .filter((path) => path.startsWith('dist/') && CODE.test(path))
        .filter((path) => {
          if (!files.includes(`${path}.map`)) return true;
          // tsc -b keeps what it built from a source that was deleted.
          const { sources } = JSON.parse(read(`${path}.map`)) as { sources: string[] };
          return sources.some((source) => !files.includes(posix.join(posix.dirname(path), source)));
        }),
    );
    expect(wrong, 'remove dist and build again').toEqual([]);
  });

  it('names each package that it imports', () => {
    const undeclared = problems(({ name, manifest, files, read }) => {
      const { dependencies, peerDependencies } = manifest;
      const declared = new Set([name, ...Object.keys({ ...dependencies, ...peerDependencies })]);
      return files
        .filter((path) => CODE.test(path))
        .flatMap((path) =>
          importsOf(path, read(path))
            .filter((from) => !/^\.|^$/.test(from) && !isBuiltin(from))
            .filter((from) => !declared.has(from.split('/', from.startsWith('@') ? 2 : 1).join('/')))
            .map((from) => `${path} imports ${from}`),
        );
    });
    expect(undeclared).toEqual([]);
  });

  it('has a README whose links work on npm', () => {
    const broken = problems(({ files, read }) =>
      [...read('README.md').matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^(https?:|mailto:|#)/.test(target))
        .filter((target) => !files.includes(posix.normalize(target.replace(/#.*/, '')))),
    );
    expect(broken).toEqual([]);
  });
});

describe('the installed packages', () => {
  it('come without a warning and without anything of the repository', () => {
    expect(project.warnings).not.toMatch(/ERESOLVE|deprecated|peer/i);
    const modules = join(project.path, 'node_modules');
    for (const { name } of packages)
      expect(realpathSync(join(modules, name))).toBe(join(realpathSync(modules), name));
  });

  it('load from each of their entries, the main one without any optional package', async () => {
    const entries = packages.flatMap(({ name, manifest }) =>
      Object.keys(manifest.exports)
        .filter((entry) => !entry.endsWith('.json'))
        .map((entry) => posix.join(name, entry)),
    );
    const load = (names: readonly string[], cwd: string) =>
      execute('node', ['--input-type=module', '-e', names.map((name) => `import '${name}';`).join('\n')], {
        cwd,
      });
    await load(entries, project.path);
    const isOptional = ({ manifest }: PackedPackage, peer: string) => manifest.peerDependenciesMeta?.[peer];
    const free = packages.filter((packed) =>
      Object.keys(packed.manifest.peerDependencies ?? {}).every((peer) => isOptional(packed, peer)),
    );
    const main = free.map(({ name }) => name).filter((name) => name !== 'millrace');
    expect(main.length).toBeGreaterThan(7);
    await load(main, project.bare);
  });

  it('are named by the example in the versions that are tested', () => {
    const { dependencies, devDependencies } = manifestOf('examples/campaign-app');
    const server = manifestOf('apps/server').dependencies;
    const ours = Object.fromEntries(packages.map(({ name, manifest }) => [name, manifest.version]));
    const tested = { ...manifestOf('.').devDependencies, ...server, ...ours };
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
      expect(version, name).toBe(tested[name]);
  });

  it('runtime RT-10: the facade exports what the specification names, and nothing deeper', async () => {
    const program = `
      console.log(JSON.stringify({
        names: Object.keys(await import('@millrace/runtime')),
        errors: await Promise.all(['dist/worker.js', 'src/worker.ts', 'worker', 'lanes'].map((path) =>
          import('@millrace/runtime/' + path).catch(({ code }) => code))),
      }));`;
    const options = { cwd: project.path };
    const { stdout } = await execute('node', ['--input-type=module', '-e', program], options);
    const { names, errors } = JSON.parse(stdout);
    const specified = ['InMemoryQueue', 'Worker', 'ThreadPool', 'threadTask', 'TaskManager'];
    expect(names).toEqual(expect.arrayContaining(specified));
    expect(new Set(errors)).toEqual(new Set(['ERR_PACKAGE_PATH_NOT_EXPORTED']));
  });

  it('async-utils SC-006: the declarations compile under TypeScript 5.7 and both decorator systems', async () => {
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

  it('async-utils FR-033: a wait with unref lets the process end, one without holds it', async () => {
    const output = async (wait: string) => {
      const program = `import { wait } from '@millrace/async-utils'; wait(${wait}).then(() => console.log('waited'));`;
      const options = { cwd: project.path };
      return (await execute('node', ['--input-type=module', '-e', program], options)).stdout;
    };
    expect(await output('600_000, { unref: true }')).toBe('');
    expect(await output('50, {}')).toBe('waited\n');
  });
});

describe.each(['10', '12'])('applications on NestJS %s', (nest) => {
  const run = async (program: string, ...args: string[]) =>
    JSON.parse(await runIn(nest === '10' ? project.onNest10 : project.path, program, ...args));

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
    const seen = await run(program, join(project.empty, `outbox-${nest}`));
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

describe('the built async-utils', () => {
  it('async-utils SC-007, async-utils SC-008: core ≤ 3.5 KB and full ≤ 8 KB, minified and gzipped', async () => {
    const cwd = join(root, 'packages/async-utils');
    const { stdout } = await execute(tool('size-limit'), ['--json'], { cwd });
    const sizes = JSON.parse(stdout) as { name: string; size: number; passed: boolean; sizeLimit: number }[];
    console.log(sizes.map(({ name, size }) => `${name}: ${size} bytes`).join(', '));
    expect(sizes.map(({ name, sizeLimit, passed }) => [name, sizeLimit, passed])).toEqual([
      ['core', 3500, true],
      ['full', 8000, true],
    ]);
  });

  it('async-utils SC-009: coverage below 95 % of the lines fails the test run', () => {
    expect(thresholds).toMatchObject({ 'packages/async-utils/src/**': { lines: 95 } });
  });
});

const README = readFileSync(join(root, 'examples/campaign-app/README.md'), 'utf8');
const TOTALS = { mails: 300, sent: 270, bounced: 30, cents: 540 };
const COMPLETED = { type: 'Ok', data: { results: { report: TOTALS } } };
const NEWCOMER = 'Your own work, in five minutes';
/** 30 words a minute, which is slow. */
const TYPED_PER_MINUTE = 150;
/** The file behind the newcomer's `npx millrace`. */
const BIN = 'node_modules/millrace/bin/millrace.js';
const ENDED = { code: 0, signal: null };

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

/** The servers share one database, one after the other: making a database takes longer than the rest of each test. */
const data = () => join(project.empty, '.millrace');

describe("a user's project", () => {
  it('serves without an application and settings from an empty folder', async () => {
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
    expect(existsSync(data())).toBe(true);
    server.kill('SIGTERM');
    expect(await server.ended, server.err()).toEqual(ENDED);
  });

  it('takes a newcomer from the README to a first group of jobs in under five minutes of typing', async () => {
    const [install = '', app = '', start = '', submit = '', ...others] = blocksOf(NEWCOMER);
    expect(others).toEqual([]);
    // The same files have been installed.
    expect(install).toMatch(/^npm run pack .*\nmkdir .* npm init -y\nnpm install \S+\/\.packed\/\*\.tgz /);
    const folder = join(project.empty, 'newcomer');
    await mkdir(folder);
    await writeFile(join(folder, 'app.mjs'), app);
    const env = { ...project.env, PORT: '0', MILLRACE_DATA_DIR: data() };
    await using server = runServer(['bash', '-c', `exec ${start}`], { env, folder });
    const url = await server.url();
    const options = { cwd: folder, env: { ...env, MILLRACE_URL: url } };
    const { stdout } = await execute('bash', ['-ec', submit], options);
    expect(stdout).toMatch(/^status +COMPLETED$/m);
    expect(server.out()).toContain('mail to bob@example.org');
    const typed = [install, app, start, submit].join('').replace(/ *(#|\/\/).*$/gm, '');
    expect(typed.length / TYPED_PER_MINUTE).toBeLessThan(5);
  });

  it('runs its application', async () => {
    const command = ['npm', 'start', '--', '--port', '0', '--data-dir', data()] as const;
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
    server.kill('SIGTERM');
    expect(await server.ended, server.err()).toEqual(ENDED);
    expect(isProcessGone(server.pid())).toBe(true);
  });

  it('runs inside its own NestJS', async () => {
    const env = { ...project.env, PORT: '0', DATA_DIR: join(data(), 'database') };
    await using server = runServer(['npm', 'run', 'start:nest'], { env, folder: project.path });
    const url = await server.url();
    const campaign = await json(`${url}/campaigns`, commandFor('/campaigns'));
    expect(await outcomeOf(url, campaign)).toMatchObject(COMPLETED);
    const nameless = await json(`${url}/campaigns`, { ...commandFor(''), body: '{}' });
    expect(nameless).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
    server.kill('SIGTERM');
    expect(await server.ended, server.err()).toEqual(ENDED);
  });
});
