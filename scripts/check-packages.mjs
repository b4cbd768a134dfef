import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { root, run, tool } from './command.mjs';
import { report } from './source-files.mjs';

/** What publint and are-the-types-wrong find in a built package; run `npm run build` first. */
async function packageProblems(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { messages } = await publint({ pkgDir: folder, strict: true });
  const problems = messages.map(
    (message) => `${manifest.name}: publint: ${formatMessage(message, manifest)}`,
  );
  const types = await run(tool('attw'), [
    '--pack',
    folder,
    '--profile',
    'esm-only',
    '--format',
    'ascii',
    '--no-emoji',
  ]);
  if (types.code !== 0) problems.push(`${manifest.name}: are-the-types-wrong:\n${types.output}`);
  return problems;
}

const folders = ['packages', 'apps']
  .flatMap((place) => readdirSync(join(root, place)).map((name) => join(root, place, name)))
  .filter((folder) => existsSync(join(folder, 'package.json')))
  .filter((folder) => !JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).private);

report(`${folders.length} packages`, (await Promise.all(folders.map(packageProblems))).flat());
