import { join } from 'node:path';
import { build } from './build.mjs';
import { root, run } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureServers } from './ensure-servers.mjs';

await ensurePackages();
await ensureServers();
await build();
const entry = join(root, 'bench', 'dist', 'run.js');
// The garbage collector is exposed so that no sample pays for the garbage of the one before.
process.exitCode = (await run('node', ['--expose-gc', entry, ...process.argv.slice(2)], { live: true })).code;
