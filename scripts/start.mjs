import { build } from './build.mjs';
import { root } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';

await ensurePackages();
await build();
process.chdir(root);
// In this process: signals reach the server itself, and its exit code is npm's.
const { runProcess } = await import('../apps/server/dist/cli/run-cli.js');
await runProcess(['start', ...process.argv.slice(2)]);
