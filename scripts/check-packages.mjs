import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { manifestOf, packPackages, workspaces } from './pack-packages.mjs';
import { packedProblems, versionProblems } from './packed-package.mjs';
import { report } from './source-files.mjs';

const manifests = workspaces.map(manifestOf);

/** How an ESM package is not resolved: by TypeScript's old way, and by `require`. */
const OTHER_WAYS = ['node10', 'node16-cjs'];

/** Runs are-the-types-wrong on a tarball. */
async function typeProblems(content) {
  const { problems = [] } = await checkPackage(content);
  return problems
    .filter(({ resolutionKind }) => !OTHER_WAYS.includes(resolutionKind))
    .map((problem) => `are-the-types-wrong: ${JSON.stringify(problem)}`);
}

/** Checks a tarball with publint, are-the-types-wrong and our own rules. */
async function packageProblems({ folder, packed }) {
  const tarball = new Uint8Array(readFileSync(packed));
  const content = createPackageFromTarballData(tarball);
  const start = `/node_modules/${content.packageName}/`;
  const files = content.listFiles().map((path) => path.slice(start.length));
  const read = (path) => content.readFile(start + path);
  const manifest = JSON.parse(read('package.json'));
  const { messages } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  return [
    ...packedProblems({ folder, manifest, files, read }, manifests),
    ...messages.map((message) => `${manifest.name}: publint: ${formatMessage(message, manifest)}`),
    ...(await typeProblems(content)).map((problem) => `${manifest.name}: ${problem}`),
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
