import type { ResponseOf } from '@millrace/contract/server-client';
import type { Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { countText, percentText } from '../../src/rules/amounts.js';
import type { World } from '../world.js';

const LIVE = { timeout: 20_000 };

/** Groups and their shares. */
export function groupsPage(world: () => World): void {
  it('shows shares against fair shares, which follow when a weight is changed on the page', () =>
    followsWeight(world()));
  it('pauses, resumes, limits and cancels a group, and says what the API says', () => actsOnGroup(world()));
  it('finds groups by state, tenant and id, and keeps that in the address', () => findsGroups(world()));
}

const tenantsOf = ({ tenants }: ResponseOf<'getFairness'>) => tenants;
const labelOf = ({ id, share, fairShare }: ResponseOf<'getFairness'>['tenants'][number]) =>
  `${id} gets ${percentText(share)}, its fair share is ${percentText(fairShare)}`;

async function followsWeight({ api, open }: World): Promise<void> {
  await using opened = await open('/groups');
  const { page } = opened;
  const shares = page.getByRole('region', { name: 'Who gets which share' });
  const bar = (id: string) => shares.getByRole('img', { name: new RegExp(`^${id} gets`) });
  await bar('demo-shop-01').waitFor();
  // Everything moves all the time: what is shown is compared with the answer that the page has got last.
  let told: ResponseOf<'getFairness'>['tenants'] = [];
  page.on('response', async (response) => {
    if (response.url().includes('/api/bulk/fairness'))
      told = await response.json().then(tenantsOf, () => told);
  });
  await expect
    .poll(async () => {
      const labels = await shares.getByRole('img').evaluateAll((all) => all.map((one) => one.ariaLabel));
      return told.length > 1 && told.every((tenant) => labels.includes(labelOf(tenant)));
    }, LIVE)
    .toBe(true);
  const part = async () => {
    const label = (await bar('demo-whale').getAttribute('aria-label')) ?? '';
    const [share = 0, fairShare = 0] = label.match(/[\d.]+(?=%)/g)?.map(Number) ?? [];
    return { share, fairShare };
  };
  await expect.poll(async () => (await part()).fairShare, LIVE).toBeLessThanOrEqual(50);
  try {
    await shares.getByRole('button', { name: 'Weight and limits of demo-whale' }).click();
    await page.getByLabel('Weight', { exact: true }).fill('99');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(async () => (await api.call('getTenant', { params: { tenantId: 'demo-whale' } })).weight)
      .toBe(99);
    await page.getByText('demo-whale is changed').waitFor();
    // Others want something, and yet most of it is due to the whale: nine weights of 1 are a tenth.
    await expect.poll(async () => Math.floor((await part()).fairShare / 10), LIVE).toBe(9);
    await expect.poll(async () => (await part()).share, LIVE).toBeGreaterThan(70);
  } finally {
    await api.call('changeTenant', { params: { tenantId: 'demo-whale' }, body: { weight: 1 } });
  }
}

async function actsOnGroup({ api, open }: World): Promise<void> {
  const groupId = 'of-the-groups-page';
  const group = () => api.call('getGroup', { params: { groupId } });
  await api.call('submitGroup', { body: { group: { id: groupId, tenantId: 'page-tests' }, seal: false } });
  await using opened = await open(`/groups?id=${groupId}`);
  const { page } = opened;
  const row = page.getByRole('table', { name: 'Groups' }).getByRole('row').nth(1);
  const press = (name: string) => row.getByRole('button', { name: `${name} ${groupId}` }).click();
  await press('Pause');
  await expect.poll(async () => (await group()).paused).toBe(true);
  await press('Resume');
  await expect.poll(async () => (await group()).paused).toBe(false);
  await press('Pause');
  await row.getByText('Paused').waitFor();
  const jobs = Array.from({ length: 3 }, (_, at) => ({
    id: `job-${at}`,
    processorType: 'demo.work',
    payload: { ms: 1 },
  }));
  await api.call('addJobs', { params: { groupId }, body: { jobs } });

  await press('Limits of');
  await page.getByLabel('Weight', { exact: true }).fill('2.5');
  await page.getByLabel('Priority').selectOption('high');
  await page.getByLabel('Starts per second').fill('7');
  await page.getByLabel('Burst').fill('3');
  await page.getByLabel('Jobs at once').fill('2');
  await page.getByRole('button', { name: 'Save limits' }).click();
  await row.getByText('7/s, burst 3').waitFor();
  const changed = await group();
  expect(changed).toMatchObject({ weight: 2.5, priorityLevel: 'high', rps: 7, burst: 3, concurrency: 2 });
  await press('Limits of');
  await page.getByLabel('Burst').fill('0');
  await page.getByRole('button', { name: 'Save limits' }).press('Enter');
  expect(await page.getByRole('dialog').count()).toBe(1);
  await page.getByLabel('Burst').fill('');
  await page.getByRole('button', { name: 'Save limits' }).click();
  await expect.poll(async () => (await group()).burst).toBeNull();

  const { pending, inFlight, registered } = changed.progress;
  expect([pending, inFlight, registered]).toEqual([3, 0, 3]);
  const cell = async (at: number) => (await row.getByRole('cell').nth(at).textContent())?.trim();
  await expect
    .poll(async () => [await cell(2), await cell(4)])
    .toEqual([`0% of ${countText(registered)}`, `${countText(pending)}${countText(inFlight)} in flight`]);
  await cancelsByKeys(page, groupId);
  await expect.poll(async () => (await group()).status).toBe('CANCELLED');
  await row.getByText('Cancelled').waitFor();
  expect(await row.getByRole('button').count()).toBe(0);
}

/** With keys alone: into the row, to the button, and to the one that confirms. */
async function cancelsByKeys(page: Page, groupId: string): Promise<void> {
  await page.getByRole('link', { name: groupId }).focus();
  await tabTo(page, page.getByRole('button', { name: `Cancel ${groupId}` }));
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: `Cancel ${groupId}?` }).waitFor();
  expect(await page.getByRole('dialog').textContent()).toContain('3 jobs are left');
  await tabTo(page, page.getByRole('button', { name: 'Cancel 3 jobs' }));
  await page.keyboard.press('Enter');
  await page.getByText(`${groupId} is cancelled`).waitFor();
}

async function findsGroups({ api, open }: World): Promise<void> {
  await using opened = await open('/groups');
  const { page } = opened;
  const rows = page.getByRole('table', { name: 'Groups' }).getByRole('row');
  await page.getByRole('link', { name: 'demo-whale', exact: true }).click();
  await expect.poll(() => page.url()).toContain('tenantId=demo-whale');
  const { items } = await api.call('listGroups', { query: { tenantId: 'demo-whale' } });
  await expect.poll(() => rows.count(), LIVE).toBe(items.length + 1);
  await page.getByLabel('Status').selectOption('CANCELLED');
  await page.getByText('No group is like this').waitFor();
  await page.reload();
  await page.getByText('No group is like this').waitFor();
  await page.getByLabel('Id of a group').fill('nobody/has-this');
  await page.keyboard.press('Enter');
  await page.getByText('There is no group of this id').waitFor();
  await page.getByRole('button', { name: 'All groups' }).click();
  await expect.poll(() => rows.count(), LIVE).toBeGreaterThan(items.length + 1);
  expect(new URL(page.url()).search).toBe('');
}

/** Presses Tab until a control has the focus; one that is busy for a moment is passed by. */
async function tabTo(page: Page, control: Locator): Promise<void> {
  const hasFocus = () => control.evaluate((one) => one === document.activeElement);
  for (let tabs = 0; tabs < 10 && !(await hasFocus()); tabs++) await page.keyboard.press('Tab');
}
