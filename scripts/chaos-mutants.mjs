import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { root } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureServers } from './ensure-servers.mjs';

await ensurePackages();
await ensureServers();
await build();
// Not before it is built.
const command = pathToFileURL(join(root, 'chaos', 'dist', 'mutants', 'command.js'));
const { runMutants } = await import(command.href);
process.exitCode = await runMutants(process.argv.slice(2));
