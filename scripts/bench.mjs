import { join } from 'node:path';
import { build } from './build.mjs';
import { root, run } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';

// The garbage collector is exposed so that no sample pays for the garbage of the one before.
await ensurePackages();
await build();
const entry = join(root, 'bench', 'dist', 'run.js');
process.exitCode = (await run('node', ['--expose-gc', entry, ...process.argv.slice(2)], { live: true })).code;
