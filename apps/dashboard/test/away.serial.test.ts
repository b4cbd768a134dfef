import { startRedis } from '@millrace/testkit';
import { startBrowser } from '@millrace/testkit/browser';
import { describe, expect, it } from 'vitest';
import { openPage, settled } from './browser.js';
import { runServerOn, storesOf } from './world.js';

/** The page looks every five seconds; the rest is for a machine that is busy. */
const SEEN_MS = 20_000;
const soon = { timeout: SEEN_MS };

describe('what is away', () => {
  it('says that the server does not answer and since when, and goes on by itself when it is back', async () => {
    await using stores = await storesOf('embedded');
    await using browser = await startBrowser();
    const first = runServerOn(stores);
    const url = await first.url();
    await using opened = await openPage(browser, `${url}/groups`);
    const { page, complaints } = opened;
    const live = page.getByRole('complementary').getByRole('status');
    await expect.poll(() => live.textContent(), soon).toBe('Live');
    await settled(page);
    await first[Symbol.asyncDispose]();
    const alert = page.getByRole('alert').filter({ hasText: 'The server does not answer since' });
    await alert.waitFor({ timeout: SEEN_MS });
    expect(await alert.textContent()).toMatch(
      /^The server does not answer since \d\d:\d\d:\d\d \(.+ s\)\. What you see is from then/,
    );
    expect(await live.textContent()).toBe('No connection');
    // What was there stays to be read.
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Groups');

    await using again = runServerOn(stores, { args: ['--port', new URL(url).port] });
    await again.url();
    const group = { group: { id: 'after-it' }, jobs: [], seal: false };
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/api/bulk/groups`, { method: 'POST', headers, body: JSON.stringify(group) });
    await alert.waitFor({ state: 'detached', timeout: SEEN_MS });
    await expect.poll(() => live.textContent(), soon).toBe('Live');
    await page.getByRole('link', { name: 'after-it' }).waitFor();
    expect(complaints).toEqual([]);
  }, 90_000);

  it('says which backend is down and since when, and that it is well again by saying nothing', async () => {
    const redis = await startRedis();
    try {
      await using stores = await storesOf('embedded');
      await using server = runServerOn(stores, { env: { REDIS_URL: redis.url } });
      const url = await server.url();
      await using browser = await startBrowser();
      await using opened = await openPage(browser, url);
      const { page, complaints } = opened;
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await redis.kill();
      const alert = page.getByRole('alert').filter({ hasText: 'redis is not well' });
      await alert.waitFor({ timeout: SEEN_MS });
      expect(await alert.textContent()).toMatch(/redis is not well since \d\d:\d\d:\d\d/);
      await redis.restart();
      await alert.waitFor({ state: 'detached', timeout: SEEN_MS });
      expect(complaints).toEqual([]);
    } finally {
      await redis.stop();
    }
  }, 90_000);
});
