import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ViewId } from '@millrace/contract/server-client';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { hrefOf } from '../src/rules/hrefs.js';
import { goTo, seriousFindings, settled } from './browser.js';
import type { World } from './world.js';

/** Kept after a run, for people to look at. */
const KEPT = fileURLToPath(new URL('../../../.results/screenshots/', import.meta.url));

const WIDE = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

/** The address of every view, about something that there is. */
async function allViews({ api }: World): Promise<Readonly<Record<ViewId, string>>> {
  const [group] = (await api.call('listGroups', { query: { tenantId: 'demo-whale', limit: 1 } })).items;
  const groupId = group?.id ?? '';
  const [job] = (await api.call('listJobs', { params: { groupId }, query: { state: 'PENDING', limit: 1 } }))
    .items;
  const [batch] = (await api.call('listBatches', { query: { limit: 1 } })).items;
  const [operation] = (await api.call('listOperations', { query: { limit: 1 } })).items;
  const [session] = (await api.call('listChatSessions', { query: { limit: 1 } })).items;
  return {
    overview: hrefOf('overview'),
    groups: hrefOf('groups'),
    group: hrefOf('group', { groupId }),
    jobs: hrefOf('jobs', { groupId }),
    job: hrefOf('job', { groupId, jobId: job?.id ?? '' }),
    deadLetters: hrefOf('deadLetters'),
    batches: hrefOf('batches'),
    batch: hrefOf('batch', { batchId: batch?.id ?? '' }),
    operations: hrefOf('operations'),
    operation: hrefOf('operation', { opId: operation?.opId ?? '' }),
    congestion: hrefOf('congestion'),
    chat: hrefOf('chat'),
    chatSession: hrefOf('chatSession', { sessionId: session?.session_id ?? '' }),
    workers: hrefOf('workers'),
  };
}

/**
 * Every view in both themes and on a phone: nothing that is serious for axe-core, nothing wider than the screen; a picture of each is kept.
 */
export function looks(world: () => World): void {
  it('can be read by everybody, in the light and in the dark, and on a phone', async () => {
    mkdirSync(KEPT, { recursive: true });
    await using opened = await world().open('/');
    const { page } = opened;
    await settled(page);
    for (const [view, path] of Object.entries(await allViews(world()))) {
      await goTo(page, path);
      expect(await page.getByRole('alert').allTextContents(), view).toEqual([]);
      expect(await seriousFindings(page), view).toEqual([]);
      await picture(page, `${view}-light`);
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await seriousFindings(page, ['color-contrast']), `${view} in the dark`).toEqual([]);
      await picture(page, `${view}-dark`);
      await page.setViewportSize(PHONE);
      await page.emulateMedia({ colorScheme: 'light' });
      await settled(page);
      await picture(page, `${view}-phone`);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wider, `${view} on a phone`).toBeLessThanOrEqual(0);
      await page.setViewportSize(WIDE);
    }
  }, 120_000);
}

const picture = (page: Page, name: string) => page.screenshot({ path: `${KEPT}${name}.png` });
