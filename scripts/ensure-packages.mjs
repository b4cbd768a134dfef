// Plain Node: this runs before anything is installed.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, run } from './command.mjs';

const MINIMUM_NODE = [20, 19];

/** Refuses a Node that is too old. */
function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1])) return;
  console.error(`Millrace needs Node ${MINIMUM_NODE.join('.')} or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

const npm = (...args) => run('npm', [...args, '--loglevel=error']);

/**
 * Installs what the lockfile names and never writes to it. `npm ci` refuses a registry that lacks a package; `npm install` skips those that
 * only other platforms need.
 */
export async function install(execute = npm) {
  const clean = await execute('ci');
  return clean.code === 0 ? clean : execute('install', '--no-save');
}

/** Installs the npm packages if they are missing or the lockfile has changed. */
export async function ensurePackages() {
  checkNode();
  const lockHash = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const stamp = join(root, 'node_modules', '.millrace-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash) return;
  console.log('Installing npm packages …');
  const { code, output } = await install();
  if (code !== 0) {
    console.error(`${output}\nCould not install the npm packages; run \`npm install\` to see why`);
    process.exit(1);
  }
  writeFileSync(stamp, lockHash);
}
