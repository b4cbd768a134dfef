// Plain Node: this runs before anything is installed.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { DEBIAN_PACKAGES, findServerBinaries } from '../packages/testkit/server-binaries.mjs';
import { run } from './command.mjs';

/** Debian runs this file to ask whether a package may start its service. 101 means no. */
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

/**
 * Installs the real servers and the browser of the tests from the system's packages if it can. Otherwise prints the command to run
 * and ends this program.
 */
export async function ensureServers() {
  const isRootOnDebian = process.getuid?.() === 0 && existsSync('/etc/debian_version');
  if (isRootOnDebian && missing().length > 0) await installFromDebian(packagesOf(missing()));
  const names = missing();
  if (names.length === 0) return;
  console.error(
    `The tests need real servers, curl and Chromium; missing: ${names.join(', ')}. Install them with:\n\n` +
      `  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packagesOf(names).join(' ')}\n\n` +
      'or, on macOS: brew install redis postgresql, and brew install --cask chromium. Then run the command again.',
  );
  process.exit(1);
}

const missing = () =>
  Object.entries(findServerBinaries()).flatMap(([name, path]) => (path === undefined ? [name] : []));

const packagesOf = (names) => [...new Set(names.map((name) => DEBIAN_PACKAGES[name]))];

async function installFromDebian(packages) {
  console.log(`Installing system packages: ${packages.join(' ')} …`);
  // The tests start their own servers. Those of the system must not start.
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
