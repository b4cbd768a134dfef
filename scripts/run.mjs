// Builds everything and runs the benchmarks, the chaos scenarios or the mutants: `node scripts/run.mjs bench --smoke`.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { root, run } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureServers } from './ensure-servers.mjs';

const [command, ...args] = process.argv.slice(2);

async function runMutants() {
  const built = pathToFileURL(join(root, 'chaos/dist/mutants/command.js'));
  return (await import(built.href)).runMutants(args);
}

const program = async (...nodeArgs) => (await run('node', [...nodeArgs, ...args], { live: true })).code;

const COMMANDS = {
  // With the garbage collector exposed, no sample pays for the garbage of the one before.
  bench: () => program('--expose-gc', join(root, 'bench/dist/run.js')),
  chaos: () => program(join(root, 'chaos/dist/run.js')),
  mutants: runMutants,
};

await ensurePackages();
await ensureServers();
await build();
process.exitCode = await COMMANDS[command]();
