import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { seriousFindings } from '../browser.js';
import type { World } from '../world.js';

/** Batches, and one of them as a DAG. */
export function batchesPage(world: () => World): void {
  it('lists the batches that the filters of the address name', () => listsBatches(world()));
  it('draws a running batch, aborts it and retries it, states following', () => followsRun(world()));
  it('shows why a task failed, and retries it, by keys alone', () => retriesByKeys(world()));
  it('shows what a task was given and what it gave', () => showsResults(world()));
}

/** As an attacker would call a month: it must be read, not run. */
const HOSTILE = '<img src=x onerror=alert(1)>';
/** Longer than anybody looks: it runs until it is aborted. */
const LONG_MS = 20_000;

async function startSettle({ api }: World, payload: object, bizKey: string = randomUUID()): Promise<string> {
  const { id } = await api.call('startBatch', {
    body: { dag: 'demo-settle', bizKey, payload, tenant: 'page-books' },
  });
  return id;
}

async function ended({ api }: World, batchId: string): Promise<void> {
  const status = async () => (await api.call('getBatch', { params: { batchId } })).batch.status;
  await expect.poll(status, { timeout: 15_000 }).not.toBe('RUNNING');
}

const drawn = (page: Page, name: string | RegExp) =>
  page.getByRole('region', { name: 'The tasks and who waits for whom' }).getByRole('button', { name });

async function listsBatches(world: World): Promise<void> {
  const bizKey = `${HOSTILE} ${randomUUID()}`;
  const failed = await startSettle(world, { ms: 0, fail: 'load' }, bizKey);
  await ended(world, failed);
  await using opened = await world.open('/batches?tenant=page-books');
  const { page } = opened;
  const table = page.getByRole('table', { name: 'Batches' });
  await table.getByRole('link', { name: bizKey }).waitFor();
  await page.getByRole('combobox', { name: 'State' }).selectOption('Failed');
  await page.getByRole('searchbox', { name: 'Business key' }).fill(bizKey);
  await page.keyboard.press('Enter');
  await expect.poll(() => table.getByRole('row').count()).toBe(2);
  expect(new URL(page.url()).searchParams.get('status')).toBe('FAILED');
  const { items } = await world.api.call('listBatches', { query: { tenant: 'page-books', bizKey } });
  const cells = await table.getByRole('row').nth(1).getByRole('cell').allTextContents();
  expect(items[0]?.taskCount).toBe(6);
  expect(cells.slice(0, 6)).toEqual([bizKey, 'demo-settle v1', 'page-books', 'Failed', '6/6', '1']);
  await page.getByRole('combobox', { name: 'State' }).selectOption('Aborted');
  await page.getByRole('heading', { name: 'No batch is like this' }).waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await table.getByRole('link').first().waitFor();
  expect(new URL(page.url()).search).toBe('');
}

async function followsRun(world: World): Promise<void> {
  const batchId = await startSettle(world, { ms: LONG_MS });
  await using opened = await world.open(`/batches/${batchId}`);
  const { page } = opened;
  await drawn(page, /^load Running/).waitFor();
  expect(await drawn(page, / Waiting$/).count()).toBe(5);
  expect(await page.getByRole('img', { name: /^Tasks: / }).getAttribute('aria-label')).toBe(
    'Tasks: 1 running, 5 waiting for others',
  );
  await page.getByRole('button', { name: 'Abort…' }).click();
  await page.getByRole('button', { name: 'Abort 6 open tasks' }).click();
  await drawn(page, 'load Cancelled').waitFor();
  expect(await drawn(page, / Cancelled$/).count()).toBe(6);
  const status = async () => (await world.api.call('getBatch', { params: { batchId } })).batch.status;
  expect(await status()).toBe('ABORTED');
  await page.getByRole('button', { name: 'Retry…' }).click();
  await page.getByText('What did not succeed runs again: 6 cancelled.').waitFor();
  await page.getByRole('button', { name: 'Retry 6 tasks' }).click();
  await drawn(page, /^load Running/).waitFor();
  expect(await status()).toBe('RUNNING');
  await world.api.call('abortBatch', { params: { batchId } });
}

async function retriesByKeys(world: World): Promise<void> {
  const batchId = await startSettle(world, { ms: 0, fail: 'gbp' });
  await ended(world, batchId);
  const gbp = async () => {
    const { tasks } = await world.api.call('getBatch', { params: { batchId } });
    return tasks.find(({ key }) => key === 'gbp');
  };
  const before = await gbp();
  await using opened = await world.open(`/batches/${batchId}`);
  const { page } = opened;
  const node = drawn(page, `gbp Failed ${before?.error?.code}`);
  await node.focus();
  await page.keyboard.press('Enter');
  await expect.poll(() => node.getAttribute('aria-pressed')).toBe('true');
  expect(new URL(page.url()).searchParams.get('task')).toBe('gbp');
  const error = page.getByRole('region', { name: 'Error' });
  expect(await error.textContent()).toContain(`${before?.error?.code}${before?.error?.message}`);
  expect(await seriousFindings(page)).toEqual([]);
  await page.getByRole('button', { name: 'Retry this task' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('gbp runs again').waitFor();
  // Its payload lets it fail again: a later start tells that it ran.
  await expect.poll(async () => ((await gbp())?.startedAt ?? '') > (before?.startedAt ?? '')).toBe(true);
  await ended(world, batchId);
  await node.waitFor();
}

async function showsResults(world: World): Promise<void> {
  const batchId = await startSettle(world, { ms: 0 });
  await ended(world, batchId);
  await using opened = await world.open(`/batches/${batchId}?task=eur`);
  const { page } = opened;
  const { items } = await world.api.call('listBatchTasks', { params: { batchId }, query: {} });
  const resultOf = (name: string) => items.find(({ key }) => key === name)?.result;
  const result = page.getByRole('region', { name: 'Result', exact: true });
  await expect.poll(() => result.textContent()).toBe(String(resultOf('eur')));
  const inputs = page.getByRole('region', { name: 'Results of what it waits for' });
  expect(JSON.parse((await inputs.textContent()) ?? '')).toEqual({ load: resultOf('load') });
  const payload = page.getByRole('region', { name: 'Payload of the batch' });
  expect(JSON.parse((await payload.textContent()) ?? '')).toEqual({ ms: 0 });
  await page.getByRole('table', { name: 'Tasks' }).getByRole('button', { name: 'report' }).click();
  await expect
    .poll(async () => JSON.parse((await result.textContent()) || 'null'))
    .toEqual(resultOf('report'));
  const rows = page.getByRole('table', { name: 'Tasks' }).getByRole('row');
  expect(await rows.count()).toBe(items.length + 1);
  expect((await rows.nth(5).getByRole('cell').allTextContents()).slice(0, 4)).toEqual([
    'Show join',
    'Done',
    'eur, gbp, usd',
    '1/2',
  ]);
}
