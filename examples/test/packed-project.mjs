import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../scripts/command.mjs';
import { manifestOf, packPackages } from '../../scripts/pack-packages.mjs';

const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock'];
/** npm's access to its registry. A user has none of the other variables of a test process. */
const OWN_VARIABLES =
  /^(home|npm_config_(cache|registry|userconfig)|https?_proxy|no_proxy|node_extra_ca_certs)$/i;

/**
 * Packs all packages as they are published and installs them in three projects from which nothing of the repository can be reached:
 * `path` is a copy of the example, built; `bare` has the `free` packages without any optional package; `onNest10` has NestJS 10 and PGlite
 * beside them.
 */
export async function packedProjects(folder) {
  const env = userEnvironment();
  const npm = (cwd, ...args) => promisify(execFile)('npm', args, { cwd, env });
  const packages = await packPackages(folder);
  const install = async (name, installed, others = {}) => {
    const path = join(folder, name);
    await mkdir(path, { recursive: true });
    const named = Object.entries(others).map(([other, version]) => `${other}@${version}`);
    const { stderr } = await npm(path, ...INSTALL, ...installed.map(({ packed }) => packed), ...named);
    return { path, warnings: stderr };
  };
  for (const name of ['package.json', 'tsconfig.json', 'src'])
    await cp(join(root, 'examples/campaign-app', name), join(folder, 'campaign-app', name), {
      recursive: true,
    });
  const free = packages.filter((one) => one.name !== 'millrace' && requiredPeers(one.folder).length === 0);
  const nest10 = {
    ...manifestOf('fixtures/nest10').dependencies,
    '@electric-sql/pglite': manifestOf('packages/postgres').devDependencies['@electric-sql/pglite'],
  };
  const [{ path, warnings }, bare, onNest10] = await Promise.all([
    install('campaign-app', packages),
    install('bare', free),
    install('nest-10', free, nest10),
  ]);
  await npm(path, 'run', 'build');
  return { packages, free, path, warnings, bare: bare.path, onNest10: onNest10.path, env };
}

function requiredPeers(folder) {
  const { peerDependencies = {}, peerDependenciesMeta = {} } = manifestOf(folder);
  return Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
}

function userEnvironment() {
  const kept = Object.entries(process.env).filter(([name]) => OWN_VARIABLES.test(name));
  const path = process.env.PATH.split(delimiter).filter((place) => !place.startsWith(root));
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) };
}
