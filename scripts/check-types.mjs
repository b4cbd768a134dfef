import { run, tool } from './command.mjs';
import { filesBelow } from './source-files.mjs';

// `tsc -b` checks what is built; this checks the tests beside it, with one program per tsconfig.json.
const configs = ['packages', 'apps', 'bench', 'chaos', 'scripts', 'examples']
  .flatMap(filesBelow)
  .filter((path) => path.endsWith('/tsconfig.json'));

const results = await Promise.all(configs.map((path) => run(tool('tsc'), ['--noEmit', '-p', path])));
for (const { code, output } of results) {
  if (code === 0) continue;
  process.stderr.write(output);
  process.exitCode = 1;
}
if (!process.exitCode) console.log(`types: ${configs.length} projects ok`);
