import { join } from 'node:path';
import { build } from './build.mjs';
import { root, run } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';

await ensurePackages();
await build();
const example = join(root, 'examples', 'flaky-service.mjs');
process.exitCode = (await run('node', [example, ...process.argv.slice(2)], { live: true })).code;
