// Plain Node: this runs before anything is installed.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { findServerBinaries } from '../packages/testkit/server-binaries.mjs';
import { run } from './command.mjs';

/** Debian asks this file whether a package may start its service; 101 means no. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

/**
 * Makes sure that the real servers and the browser that the tests need are on this machine: installs them from the system's packages when
 * that is possible, otherwise ends with the exact command to run.
 */
export async function ensureServers() {
  const { missing } = findServerBinaries();
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map(({ debianPackage }) => debianPackage))];
  const isRootOnDebian = process.getuid?.() === 0 && existsSync('/etc/debian_version');
  if (isRootOnDebian) await installFromDebian(packages);
  const still = findServerBinaries().missing;
  if (still.length === 0) return;
  console.error(howToInstall(still));
  process.exit(1);
}

/**
 * What to tell a person whose machine lacks servers: which, and the command to run.
 * @param {readonly { name: string, debianPackage: string }[]} missing
 */
export function howToInstall(missing) {
  const packages = [...new Set(missing.map(({ debianPackage }) => debianPackage))].join(' ');
  return (
    `The tests need real servers, curl and Chromium; missing: ${missing.map(({ name }) => name).join(', ')}. Install them with:\n\n` +
    `  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages}\n\n` +
    'or, on macOS: brew install redis postgresql, and brew install --cask chromium. Then run the command again.'
  );
}

async function installFromDebian(packages) {
  console.log(`Installing system packages: ${packages.join(' ')} …`);
  // The tests start servers of their own: the system's must not come up as a side effect of running them.
  const ownPolicy = !existsSync(SERVICE_POLICY);
  if (ownPolicy) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  try {
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
      const { code, output } = await run('apt-get', args, { env });
      if (code !== 0) console.error(`apt-get ${args.join(' ')} failed:\n${output}`);
    }
  } finally {
    if (ownPolicy) rmSync(SERVICE_POLICY, { force: true });
  }
}
