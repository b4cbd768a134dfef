import { join } from 'node:path';
import { build } from './build.mjs';
import { root, run } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureServers } from './ensure-servers.mjs';

await ensurePackages();
await ensureServers();
await build();
const entry = join(root, 'chaos', 'dist', 'run.js');
process.exitCode = (await run('node', [entry, ...process.argv.slice(2)], { live: true })).code;
