// Writes docs/pictures: views of the page while the demo runs.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { build } from './build.mjs';
import { addressOf, root } from './command.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureServers } from './ensure-servers.mjs';

const PICTURES = join(root, 'docs/pictures');
const SIZE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
/** Until all small tenants have submitted, jobs are dead letters and a batch has failed. */
const WARM_UP_MS = 75_000;
/** Until a view has loaded its data and its bars have stopped moving. */
const DRAWN_MS = 2_500;
const DEMO = { seconds: 180, whaleJobs: 20_000, tenants: 6 };

/** Starts a server on a free port. */
async function startServer(folder) {
  const args = [join(root, 'apps/server/bin/millrace.js'), 'start', '--port', '0', '--data-dir', folder];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  return { url: await addressOf(child), stop: () => child.kill('SIGKILL') };
}

/** The paths of the views, by the name of the picture. */
async function viewsOf(url) {
  const ask = async (path) => (await (await fetch(`${url}/api/${path}`)).json()).items[0];
  const whale = await ask('bulk/groups?tenantId=demo-whale&limit=1');
  const group = `/groups/${encodeURIComponent(whale.id)}`;
  const job = await ask(`bulk/groups/${encodeURIComponent(whale.id)}/jobs?state=PENDING&limit=1`);
  const batch = await ask('batches?status=FAILED&limit=1');
  return {
    overview: '/',
    groups: '/groups',
    group,
    job: `${group}/jobs/${job.id}`,
    'dead-letters': '/dead-letters',
    batch: `/batches/${batch.id}?task=gbp`,
    operations: '/operations',
    congestion: '/congestion',
  };
}

await ensurePackages();
await ensureServers();
await build();
const { startBrowser } = await import('../packages/testkit/dist/browser.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-pictures-'));
const server = await startServer(folder);
const browser = await startBrowser();
try {
  const body = JSON.stringify(DEMO);
  await fetch(`${server.url}/api/demo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  console.log('The demo runs; pictures are taken in a minute …');
  await wait(WARM_UP_MS);
  mkdirSync(PICTURES, { recursive: true });
  const take = async (name, path, options) => {
    const context = await browser.newContext({ viewport: SIZE, reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    await page.goto(server.url + path);
    await wait(DRAWN_MS);
    await page.screenshot({ path: join(PICTURES, `${name}.png`) });
    await context.close();
    console.log(`docs/pictures/${name}.png`);
  };
  for (const [name, path] of Object.entries(await viewsOf(server.url))) await take(name, path);
  await take('groups-dark', '/groups', { colorScheme: 'dark' });
  await take('overview-phone', '/', { viewport: PHONE });
} finally {
  await browser.close();
  server.stop();
  rmSync(folder, { recursive: true, force: true });
}
