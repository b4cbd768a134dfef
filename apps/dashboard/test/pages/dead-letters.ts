import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { countText } from '../../src/rules/amounts.js';
import { causeParts } from '../../src/rules/causes.js';
import { hrefOf } from '../../src/rules/hrefs.js';
import { seriousFindings } from '../browser.js';
import type { World } from '../world.js';

const LIVE = { timeout: 20_000 };
/** Two of each cause of the demo: which one a job dies of, its id says. */
const JOBS = ['a', 'b', 'c', 'd', 'e', 'f'];
const GROUPS = {
  read: 'letters-read',
  cause: 'letters-cause',
  some: 'letters-some',
  purged: 'letters-purged',
};

/** What failed for good. */
export function deadLettersPage(world: () => World): void {
  beforeAll(async () => {
    const { api } = world();
    const jobs = JOBS.map((id) => ({ id, processorType: 'demo.work', payload: { ms: 0, fail: 'always' } }));
    for (const id of Object.values(GROUPS))
      await api.call('submitGroup', { body: { group: { id, tenantId: id }, jobs } });
  }, 30_000);
  it('says how many errors the failures of a group are, with samples', () => readsCauses(world()));
  it('redrives an error, and confirms with its count', () => redrivesCause(world()));
  it('redrives one letter, and some that were chosen, by keys alone', () => redrivesSome(world()));
  it('asks again when there are others by then, and purges', () => purgesGroup(world()));
  it('says that there is nothing where nothing failed', () => saysNothing(world()));
}

const causesOf = async ({ api }: World, groupId: string) =>
  (await api.call('listDeadLetters', { query: { groupBy: 'signature', groupId } })).signatures ?? [];

const countOf = async (world: World, groupId: string): Promise<number> =>
  (await causesOf(world, groupId)).reduce((sum, { count }) => sum + count, 0);

const roundOf = async ({ api }: World, groupId: string): Promise<number> =>
  (await api.call('getGroup', { params: { groupId } })).round;

/** They end, and then stand still. */
const allDead = (world: World, groupId: string) =>
  expect.poll(() => countOf(world, groupId), LIVE).toBe(JOBS.length);

async function readsCauses(world: World): Promise<void> {
  await allDead(world, GROUPS.read);
  await using opened = await world.open(hrefOf('deadLetters', undefined, { groupId: GROUPS.read }));
  const { page } = opened;
  await page.getByText('6 failures are 3 errors', { exact: true }).waitFor();
  const causes = await causesOf(world, GROUPS.read);
  const shown = await page.getByRole('article').allTextContents();
  expect(shown).toHaveLength(causes.length);
  for (const [index, cause] of causes.entries()) {
    expect(shown[index]).toContain(countText(cause.count));
    expect(shown[index]).toContain(cause.code);
    expect(shown[index]).toContain(causeParts(cause).message);
  }
  const [first] = causes;
  const query = { groupId: GROUPS.read, signature: first?.signature };
  const { items = [] } = await world.api.call('listDeadLetters', { query });
  await page
    .getByRole('button', { name: /^Samples of / })
    .first()
    .click();
  const samples = page.getByRole('list', { name: 'The newest letters' }).getByRole('listitem');
  await expect.poll(() => samples.count()).toBe(items.length);
  await expect
    .poll(() => samples.allTextContents())
    .toEqual(items.map(({ error, job }) => expect.stringContaining(`${error}${job.id}of ${job.groupId}`)));
  await samples
    .first()
    .getByRole('button', { name: /^Payload of / })
    .click();
  await page.getByText('"fail": "always"').waitFor();
}

async function redrivesCause(world: World): Promise<void> {
  await allDead(world, GROUPS.cause);
  await using opened = await world.open(hrefOf('deadLetters'));
  const { page } = opened;
  await page.getByRole('button', { name: /^Redrive [\d,]+… of CARD_EXPIRED$/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('demo.work CARD_EXPIRED The card of customer # has expired').waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  const done = page.getByText(/^[\d,]+ dead letters went back to the queue\.$/);
  // Jobs of the demo die of the same: when one did meanwhile, the page asks again with the new number.
  await expect
    .poll(async () => {
      const button = dialog.getByRole('button', { name: /^Redrive [\d,]+$/ });
      if (await button.isEnabled({ timeout: 500 }).catch(() => false)) await button.click().catch(() => {});
      return done.count();
    }, LIVE)
    .toBe(1);
  expect(await dialog.count()).toBe(0);
  expect(await roundOf(world, GROUPS.cause)).toBe(2);
}

async function redrivesSome(world: World): Promise<void> {
  const groupId = GROUPS.some;
  await allDead(world, groupId);
  const before = await roundOf(world, groupId);
  const [cause] = await causesOf(world, groupId);
  await using opened = await world.open(
    hrefOf('deadLetters', undefined, { groupId, signature: cause?.signature }),
  );
  const { page } = opened;
  await page.getByRole('heading', { name: cause?.code as string }).waitFor();
  const boxes = page.getByRole('checkbox', { name: /^Choose / });
  await expect.poll(() => boxes.count()).toBe(cause?.count);
  expect(await seriousFindings(page)).toEqual([]);

  await press(page, boxes.first(), 'Space');
  await press(page, boxes.nth(1), 'Space');
  await press(page, page.getByRole('button', { name: 'Redrive 2… chosen letters' }), 'Enter');
  await press(page, page.getByRole('dialog').getByRole('button', { name: 'Redrive 2' }), 'Enter');
  await page.getByText('2 dead letters went back to the queue.').waitFor();
  await expect.poll(() => roundOf(world, groupId)).toBe(before + 1);

  await allDead(world, groupId);
  await page
    .getByRole('button', { name: new RegExp(`^Redrive . of ${groupId}$`) })
    .first()
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Redrive 1' }).click();
  await page.getByText('1 dead letter went back to the queue.').waitFor();
  await expect.poll(() => roundOf(world, groupId)).toBe(before + 2);
}

async function purgesGroup(world: World): Promise<void> {
  const groupId = GROUPS.purged;
  await allDead(world, groupId);
  await using opened = await world.open(hrefOf('deadLetters', undefined, { groupId }));
  const { page } = opened;
  await page.getByRole('button', { name: /^Purge all 6…/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Purge 6 dead letters?' });
  await world.api.call('purgeDeadLetters', { body: { ids: [{ groupId, jobId: 'a' }], expectedCount: 1 } });
  await dialog.getByRole('button', { name: 'Purge 6' }).click();
  const again = page.getByRole('dialog', { name: 'Purge 5 dead letters?' });
  await again.getByText('There are now 5, not 6. Nothing was moved.').waitFor();
  expect(await countOf(world, groupId)).toBe(5);
  await again.getByRole('button', { name: 'Purge 5' }).click();
  await page.getByText('5 dead letters are gone for good.').waitFor();
  await page.getByText('Nothing of this group has failed for good').waitFor();
  expect(await countOf(world, groupId)).toBe(0);
}

async function saysNothing({ open }: World): Promise<void> {
  await using opened = await open(hrefOf('deadLetters'));
  const { page } = opened;
  const filter = page.getByLabel('Group id');
  await filter.fill('letters-nobody');
  await filter.press('Enter');
  await page.getByText('Nothing of this group has failed for good').waitFor();
  expect(new URL(page.url()).searchParams.get('groupId')).toBe('letters-nobody');
  await page.getByRole('button', { name: 'Show all groups' }).click();
  await page.getByText(/^[\d,]+ failures are 3 errors$/).waitFor();
}

/** What somebody without a mouse does; that it can be reached, the focus says. */
async function press(page: Page, target: ReturnType<Page['getByRole']>, key: string): Promise<void> {
  await target.focus();
  expect(await target.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press(key);
}
