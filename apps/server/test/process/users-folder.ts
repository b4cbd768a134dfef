import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const EXAMPLE = join(ROOT, 'examples/campaign-app');
const execute = promisify(execFile);
/** `npm pack` names every file. */
const OUTPUT_BYTES_MAX = 2 ** 24;

/** How npm gets to its registry, and nothing else of what this process was told: a user has not started it. */
const OWN_VARIABLES =
  /^(home|npm_config_(cache|registry|userconfig)|https?_proxy|no_proxy|node_extra_ca_certs)$/i;

/** A project of a user, in a folder from which nothing of the repository can be reached. */
export interface UsersFolder extends AsyncDisposable {
  readonly project: string;
  /** Empty, inside the project: its commands are found from there. */
  readonly empty: string;
  readonly env: NodeJS.ProcessEnv;
  /** What npm warned of while it installed. */
  readonly warnings: string;
  /** Runs npm in the project. */
  npm(...args: string[]): Promise<unknown>;
}

/** Packs all packages as they would be published, and installs them in a copy of the example. */
export async function installExample(): Promise<UsersFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-user-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const project = join(folder, 'campaign-app');
  const empty = join(project, 'empty');
  const env = usersVariables();
  const npm = (...args: string[]) => said('npm', args, { cwd: project, env });
  try {
    await Promise.all(['package.json', 'tsconfig.json', 'src'].map((name) => copy(name, project)));
    await mkdir(empty);
    await dependOn(await packed(folder), project);
    const { stderr } = await npm(
      'install',
      ...['--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock'],
    );
    return { project, empty, env, warnings: stderr, npm, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

const copy = (name: string, project: string) =>
  cp(join(EXAMPLE, name), join(project, name), { recursive: true });

interface Packed {
  readonly name: string;
  /** Where its tarball is. */
  readonly packed: string;
}

/** As `npm run pack` does, and the check of the packages. */
async function packed(folder: string): Promise<readonly Packed[]> {
  const script = pathToFileURL(join(ROOT, 'scripts/pack-packages.mjs')).href;
  const { packPackages } = (await import(script)) as {
    packPackages(destination: string): Promise<readonly Packed[]>;
  };
  return packPackages(folder);
}

/** Takes packages of ours from the files instead of the registry; those too that the project needs only through others. */
async function dependOn(tarballs: readonly Packed[], project: string): Promise<void> {
  const path = join(project, 'package.json');
  const manifest = JSON.parse(await readFile(path, 'utf8')) as { dependencies: Record<string, string> };
  for (const { name, packed: tarball } of tarballs) manifest.dependencies[name] = `file:${tarball}`;
  await writeFile(path, JSON.stringify(manifest));
}

function usersVariables(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => OWN_VARIABLES.test(name));
  const path = (process.env.PATH ?? '').split(delimiter).filter((place) => !place.startsWith(ROOT));
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}

/** What a command says; throws when it fails, with the same. */
async function said(command: string, args: string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
  try {
    return await execute(command, args, { ...options, maxBuffer: OUTPUT_BYTES_MAX });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}
