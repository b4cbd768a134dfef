import { expect, it } from 'vitest';
import { DEBIAN_PACKAGES } from '../../packages/testkit/server-binaries.mjs';
import { howToInstall } from '../ensure-servers.mjs';

it('a machine without the servers is told the exact command', () => {
  expect(howToInstall(Object.keys(DEBIAN_PACKAGES))).toContain(
    'missing: redis-server, postgres, initdb, curl, chromium. Install them with:\n\n' +
      '  sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server postgresql curl chromium-headless-shell\n',
  );
});
