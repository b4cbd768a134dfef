// Plain Node: this runs before anything is installed.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './command.mjs';

const MINIMUM_NODE = [20, 19];

/** Refuses a Node that is too old, with a message that says which one is needed. */
function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1])) return;
  console.error(`Millrace needs Node ${MINIMUM_NODE.join('.')} or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

/** Installs the npm packages when they are missing or the lockfile has changed since they were installed. */
export async function ensurePackages() {
  checkNode();
  const lockHash = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = join(root, 'node_modules', '.millrace-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash) return;
  console.log('Installing npm packages …');
  // Not `npm ci`: it fails where a registry lacks the optional packages of other platforms. Nor one that saves: it writes into the lockfile which of them
  // the registry has today.
  const { code, output } = await run('npm', ['install', '--no-save', '--loglevel=error']);
  if (code !== 0) {
    console.error(`${output}\nnpm install failed. Run it by hand to see more: npm install`);
    process.exit(1);
  }
  writeFileSync(stamp, lockHash);
}
