import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { root, run, tool } from './command.mjs';
import { report } from './source-files.mjs';

/** What publint and are-the-types-wrong find in a built package; run `npm run build` first. */
async function packageProblems({ folder, packed }) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { messages } = await publint({ pkgDir: folder, strict: true });
  const problems = messages.map(
    (message) => `${manifest.name}: publint: ${formatMessage(message, manifest)}`,
  );
  const types = await run(tool('attw'), [packed, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji']);
  if (types.code !== 0) problems.push(`${manifest.name}: are-the-types-wrong:\n${types.output}`);
  return problems;
}

const folders = ['packages', 'apps']
  .flatMap((place) => readdirSync(join(root, place)).map((name) => join(root, place, name)))
  .filter((folder) => existsSync(join(folder, 'package.json')))
  .filter((folder) => !JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).private);

/** All by one npm: starting it for each takes longer than the packing. */
async function pack(destination) {
  const args = ['pack', '--json', '--pack-destination', destination, ...folders];
  const { code, output } = await run('npm', args);
  if (code !== 0) throw new Error(`npm pack failed:\n${output}`);
  const list = JSON.parse(output.slice(output.search(/^\[/m)));
  return folders.map((folder, index) => ({ folder, packed: join(destination, list[index].filename) }));
}

const destination = mkdtempSync(join(tmpdir(), 'millrace-packed-'));
try {
  const packages = await pack(destination);
  report(`${packages.length} packages`, (await Promise.all(packages.map(packageProblems))).flat());
} finally {
  rmSync(destination, { recursive: true });
}
