import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { root } from './command.mjs';
import { manifestOf, packPackages, workspaces } from './pack-packages.mjs';
import { packedProblems, versionProblems } from './packed-package.mjs';
import { report } from './source-files.mjs';

const manifests = workspaces.map(manifestOf);

/** How an ESM package is not resolved: by TypeScript's old way, and by `require`. */
const OTHER_WAYS = ['node10', 'node16-cjs'];

/** What are-the-types-wrong finds, as a line each. */
async function typeProblems(tarball) {
  const { problems = [] } = await checkPackage(createPackageFromTarballData(tarball));
  return problems
    .filter(({ resolutionKind }) => !OTHER_WAYS.includes(resolutionKind))
    .map((problem) => `are-the-types-wrong: ${JSON.stringify(problem)}`);
}

/** What publint and are-the-types-wrong find in a built package, and what we know better; run `npm run build` first. */
async function packageProblems({ folder, packed, files }) {
  const manifest = manifestOf(folder);
  const read = (path) => readFileSync(join(root, folder, path), 'utf8');
  const hasSource = (path) => existsSync(join(root, folder, path));
  const tarball = new Uint8Array(readFileSync(packed));
  const { messages } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  return [
    ...packedProblems({ manifest, files, read, hasSource }, manifests),
    ...messages.map((message) => `${manifest.name}: publint: ${formatMessage(message, manifest)}`),
    ...(await typeProblems(tarball)).map((problem) => `${manifest.name}: ${problem}`),
  ];
}

/** A project of a user: it names what the repository has been tested with. */
function exampleProblems(folder) {
  const manifest = manifestOf(folder);
  const { devDependencies } = manifestOf('.');
  const pinned = { ...devDependencies, ...manifestOf('apps/server').dependencies };
  const known = Object.entries(pinned).map(([name, version]) => ({ name, version }));
  return versionProblems(manifest, [...known, ...manifests]).map((problem) => `${folder}: ${problem}`);
}

const destination = mkdtempSync(join(tmpdir(), 'millrace-packed-'));
try {
  const packages = await packPackages(destination);
  const problems = (await Promise.all(packages.map(packageProblems))).flat();
  report(`${packages.length} packages`, [...problems, ...exampleProblems('examples/campaign-app')]);
} finally {
  rmSync(destination, { recursive: true });
}
