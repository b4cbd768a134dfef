import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isProcessGone } from '@millrace/testkit';
import { build, type Plugin } from 'esbuild';
import { MUTANT_NAME } from './mutants/witness.js';

const DIST = dirname(fileURLToPath(import.meta.url));
const BUNDLES = 'bundled-';
const MILLRACE = createRequire(import.meta.url).resolve('millrace/package.json');

/** Of this run: another one may be building its own. */
const folderOf = (pid: number): string => join(DIST, `${BUNDLES}${pid}`);

/** Applications that servers load: they share what both import. */
const APPS = ['server/campaign-app', 'soak/soak-app'];

/** Where programs are as they were built, by their names. */
const builtFile = (name: string): string =>
  name === 'millrace' ? join(dirname(MILLRACE), 'dist/cli/millrace.js') : join(DIST, `${name}.js`);

/**
 * The file of a program that scenarios start: in one piece with all it imports when there is such a file, else as it was built.
 * @param name - below `src`, without its ending; or `millrace`, the command line.
 */
export function programFile(name: string): string {
  const bundled = join(folderOf(process.pid), `${name}.js`);
  return existsSync(bundled) ? bundled : builtFile(name);
}

/**
 * Puts every program that scenarios start into one piece with all it imports, for as long as this process lives: a short run of all starts 160, and
 * to load a server of 1,700 files takes a second of CPU, in one piece 0.3. A mutant is one of these files: its programs are left as they are.
 */
export async function bundlePrograms(): Promise<void> {
  if (process.env[MUTANT_NAME] !== undefined) return;
  removeLeftOvers();
  const children = readdirSync(join(DIST, 'children'))
    .filter((file) => file.endsWith('.js'))
    .map((file) => `children/${file.slice(0, -'.js'.length)}`);
  const names = [...children, ...APPS, 'millrace'];
  const folder = folderOf(process.pid);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await build({
    entryPoints: Object.fromEntries(names.map((name) => [name, builtFile(name)])),
    outdir: folder,
    bundle: true,
    // What several share is loaded once by a process that loads them all, such as a server and its application.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Names of classes are what dependency injection goes by.
    keepNames: true,
    plugins: [asTheyStand, installedOnly],
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    logLevel: 'silent',
  });
}

/** Those of runs that were killed. */
function removeLeftOvers(): void {
  const pids = readdirSync(DIST)
    .filter((name) => name.startsWith(BUNDLES))
    .map((name) => Number(name.slice(BUNDLES.length)));
  for (const pid of pids) if (isProcessGone(pid)) rmSync(folderOf(pid), { recursive: true, force: true });
}

/** Modules find Lua, SQL, threads and manifests by where they are: that stays where they were built. */
const asTheyStand: Plugin = {
  name: 'as they stand',
  setup({ onLoad }) {
    onLoad({ filter: /\.[cm]?js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replace(/\bimport\.meta\.url\b/g, () => JSON.stringify(pathToFileURL(path).href))
        .replace(/\b__dirname\b/g, () => JSON.stringify(dirname(path)))
        .replace(/\b__filename\b/g, () => JSON.stringify(path)),
      loader: 'js',
    }));
  },
};

/** Left to Node: what brings files of its own, and what others can do without and is not installed. */
const installedOnly: Plugin = {
  name: 'installed only',
  setup({ onResolve, resolve }) {
    const own = ['@electric-sql/pglite', 'piscina', 'pino', 'thread-stream'];
    onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...rest }) => {
      if (pluginData === installedOnly) return undefined;
      if (own.includes(path)) return { path, external: true };
      const found = await resolve(path, { ...rest, pluginData: installedOnly });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};
