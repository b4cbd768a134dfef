import { startRedis } from '@millrace/testkit';
import { startBrowser } from '@millrace/testkit/browser';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { API_KEYS, SECRETS } from '../../server/test/security/test-keys.js';
import { openPage, settled } from './browser.js';
import { runServerOn, storesOf } from './world.js';

/** The page looks every five seconds; the rest is for a machine that is busy. */
const SEEN_MS = 20_000;
const soon = { timeout: SEEN_MS };
const ROTATED = 'secret-of-the-admin-key-000006';

describe('what is away', () => {
  it('says that the server does not answer and since when, and goes on by itself when it is back', async () => {
    await using stores = await storesOf('embedded');
    await using browser = await startBrowser();
    const first = runServerOn(stores);
    const url = await first.url();
    await using opened = await openPage(browser, `${url}/groups`);
    const { page, complaints } = opened;
    // The clock of a browser may be wrong: how long the server is away does not depend on it.
    await page.addInitScript((aheadMs) => {
      const now = Date.now;
      Date.now = () => now() - aheadMs;
    }, 3_600_000);
    await page.reload();
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

  it('says that a server gives no stream, and asks whom it does not know any more for another key', async () => {
    await using stores = await storesOf('embedded');
    await using browser = await startBrowser();
    const limits = { MILLRACE_LIMIT_STREAMS_PER_KEY: '1' };
    const first = runServerOn(stores, { env: { ...limits, MILLRACE_API_KEYS: API_KEYS } });
    const url = await first.url();
    const other = await openPage(browser, `${url}/groups`, { key: SECRETS.admin });
    const liveOf = (page: Page) => page.getByRole('complementary').getByRole('status');
    await expect.poll(() => liveOf(other.page).textContent(), soon).toBe('Live');
    await using opened = await openPage(browser, `${url}/groups`, { key: SECRETS.admin });
    const { page, complaints } = opened;
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(
      /^This page is not told of changes since \d\d:\d\d:\d\d: 1 streams of events are open/,
    );
    expect(await liveOf(page).textContent()).toBe('Not live');
    await other[Symbol.asyncDispose]();
    await expect.poll(() => liveOf(page).textContent(), soon).toBe('Live');
    expect(await alert.count()).toBe(0);

    await first[Symbol.asyncDispose]();
    await using again = runServerOn(stores, {
      env: { MILLRACE_API_KEYS: `boss:admin:${ROTATED}` },
      args: ['--port', new URL(url).port],
    });
    await again.url();
    const field = page.getByLabel('API key');
    await field.waitFor({ timeout: SEEN_MS });
    expect(await alert.textContent()).toContain('This API key is not known');
    await field.fill(ROTATED);
    await page.getByRole('button', { name: 'Open' }).click();
    await expect.poll(() => liveOf(page).textContent(), soon).toBe('Live');
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
