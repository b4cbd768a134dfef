import { expect, it } from 'vitest';
import { percentText } from '../../src/rules/amounts.js';
import { fastPathOf } from '../../src/rules/fast-path.js';
import type { World } from '../world.js';

/** Operations, and one of them. */
export function operationsPage(world: () => World): void {
  it('says how commands are answered, and keeps the range in the address', () => saysAnswers(world()));
  it('finds an operation by its business key and tells its life to the end', () => tellsLife(world()));
  it('leads to the work behind an operation, and keeps filters in the address', () => leadsToWork(world()));
  it('cancels an operation that runs, by keys alone', () => cancelsByKeys(world()));
}

/** As an attacker would call an order: it must be read, not run. */
const HOSTILE = '<img src=x onerror=alert(1)>';

async function saysAnswers({ api, open }: World): Promise<void> {
  await using opened = await open('/operations?range=1h');
  const { page } = opened;
  const answers = page.getByRole('region', { name: 'Answered at once' });
  // The minute moves on while both are asked: the page says what the API said, now or a moment ago.
  const said = new Set<string>();
  await expect
    .poll(async () => {
      const { points, step } = await api.call('getStats', { query: { step: '10' } });
      said.add(percentText(fastPathOf(points.slice(-6), step).share));
      const text = (await answers.textContent()) ?? '';
      return [...said].some((share) => text.includes(`Answered at once${share}`));
    })
    .toBe(true);
  expect(await page.getByRole('radio', { name: 'hour', exact: true }).isChecked()).toBe(true);
  await page.getByRole('group', { name: 'Time range' }).getByText('6 hours').click();
  await expect.poll(() => page.url()).toContain('range=6h');
  await page.getByRole('table', { name: 'Operations' }).getByRole('link').first().waitFor();
}

async function tellsLife({ api, open }: World): Promise<void> {
  const bizKey = `${HOSTILE} 1`;
  const { opId } = await api.call('submitOperation', {
    body: { domain: 'DEMO', eventType: 'GREET', bizKey, payload: { name: HOSTILE, ms: 0 } },
  });
  await using opened = await open('/operations');
  const { page } = opened;
  await page.getByRole('searchbox', { name: 'Business key' }).fill(bizKey);
  await page.keyboard.press('Enter');
  const table = page.getByRole('table', { name: 'Operations' });
  await expect.poll(() => table.getByRole('row').count()).toBe(2);
  expect(new URL(page.url()).searchParams.get('bizKey')).toBe(bizKey);
  await table.getByTitle(opId).click();
  await page.getByRole('heading', { name: 'DEMO.GREET' }).waitFor();
  const steps = page.getByRole('region', { name: 'Timeline' }).getByRole('heading', { level: 3 });
  await expect.poll(() => steps.allTextContents()).toEqual(['Accepted', 'First try began', 'Completed']);
  const operation = await api.call('getOperationStatus', { params: { opId } });
  const times = page.getByRole('region', { name: 'Timeline' }).locator('time');
  expect(await times.evaluateAll((all) => all.map((one) => one.getAttribute('datetime')))).toEqual([
    operation.acceptedAt,
    operation.startedAt,
    operation.endedAt,
  ]);
  const outcome = await page.getByRole('region', { name: 'Outcome' }).locator('pre').textContent();
  expect(JSON.parse(outcome ?? '')).toEqual(operation.outcome);
  await page.getByText(operation.idemKey).first().waitFor();
  expect(await page.getByRole('button', { name: 'Cancel…' }).count()).toBe(0);
}

async function leadsToWork({ api, open }: World): Promise<void> {
  const { opId } = await api.call('submitOperation', {
    body: { domain: 'DEMO', eventType: 'CLOSE', bizKey: 'ops-close', payload: { ms: 1, fail: 'eur' } },
  });
  await using opened = await open(`/operations/${opId}`);
  const { page } = opened;
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await timeline.getByRole('heading', { name: 'Failed' }).waitFor();
  const { backing, outcome } = await api.call('getOperationStatus', { params: { opId } });
  expect(await timeline.getByRole('link').getAttribute('href')).toBe(`/batches/${backing?.ref}`);
  if (outcome?.type !== 'Fail') throw new TypeError('it was asked to fail');
  await timeline.getByText(`${outcome.errorCode}: ${outcome.message}`).waitFor();
  await page.getByRole('link', { name: 'Operations' }).last().click();
  await page.getByRole('combobox', { name: 'State' }).selectOption('Dead letters');
  await expect.poll(() => page.url()).toContain('deadLetter=true');
  await page.reload();
  await page.getByTitle(opId).waitFor();
  const { items } = await api.call('listOperations', { query: { deadLetter: 'true', limit: 50 } });
  const rows = page.getByRole('table', { name: 'Operations' }).getByRole('link');
  expect(await rows.evaluateAll((all) => all.map((one) => one.getAttribute('title')))).toEqual(
    items.map((item) => item.opId),
  );
}

async function cancelsByKeys({ api, open }: World): Promise<void> {
  const { opId } = await api.call('submitOperation', {
    body: {
      domain: 'DEMO',
      eventType: 'GREET',
      bizKey: 'ops-long',
      payload: { name: 'x', ms: 50_000 },
      timeBudgetMs: 50,
    },
  });
  await using opened = await open(`/operations/${opId}`);
  const { page } = opened;
  await page.getByRole('button', { name: 'Cancel…' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Cancel this operation?' }).waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  expect(await api.call('getOperationStatus', { params: { opId } })).toMatchObject({ endedAt: null });
  await page.keyboard.press('Enter');
  const confirm = page.getByRole('button', { name: 'Cancel 1 operation' });
  await confirm.waitFor();
  while (!(await confirm.evaluate((button) => button === document.activeElement)))
    await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Timeline' }).getByRole('heading', { name: 'Cancelled' }).waitFor();
  expect(await api.call('getOperationStatus', { params: { opId } })).toMatchObject({
    state: 'FAILED',
    outcome: { type: 'Fail', errorCode: 'CANCELLED' },
  });
}
