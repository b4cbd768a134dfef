import { expect, it } from 'vitest';
import { seriousFindings } from '../browser.js';
import type { World } from '../world.js';

const PATIENT = { timeout: 20_000 };

/** The workers. */
export function workersPage(world: () => World): void {
  const onlyInstance = async () => {
    const { items } = await world().api.call('listInstances', {});
    const [instance] = items;
    if (!instance || items.length > 1) throw new Error(`Expected one instance, got ${items.length}`);
    return instance;
  };

  it('says what the API says of the instance, what it knows, and what it needs', async () => {
    await using opened = await world().open('/workers');
    const { page } = opened;
    const instance = await onlyInstance();
    const card = page.getByRole('region', { name: `${instance.host}:${instance.pid}` });
    await card.getByText('Alive').waitFor();
    const said = await card.textContent();
    expect(said).toContain(instance.version);
    expect(said).toMatch(new RegExp(`of ${instance.workerCount} busy`));
    await card.getByText('What it knows').click();
    const names = await card.getByRole('listitem').allTextContents();
    expect(names).toEqual([...instance.processors, ...instance.dags, ...instance.routes]);
    const health = page.getByRole('region', { name: 'Health' }).getByRole('listitem');
    await expect.poll(() => health.count(), PATIENT).toBe(instance.backends.length);
    for (const text of await health.allTextContents()) expect(text).toContain('Well');
    const workers = page.getByRole('table', { name: 'Workers and their jobs' }).getByRole('row');
    await expect.poll(() => workers.count(), PATIENT).toBe((instance.workerCount ?? 0) + 1);
  });

  it('scales one by keys alone and all of them back, shows when it is done, and who did it', async () => {
    await using opened = await world().open('/workers');
    const { page } = opened;
    const { host, pid, workerCount } = await onlyInstance();
    const before = workerCount ?? 0;
    const card = page.getByRole('region', { name: `${host}:${pid}` });
    await card.getByRole('button', { name: `Scale ${host}:${pid}` }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('It lasts until').waitFor();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type(String(before + 3));
    await page.keyboard.press('Enter');
    await expect.poll(async () => (await onlyInstance()).wantedWorkers, PATIENT).toBe(before + 3);
    await expect.poll(() => card.textContent(), PATIENT).toMatch(new RegExp(`of ${before + 3} busy`));
    expect(await card.textContent()).toContain('scaled by hand');
    await page.getByRole('button', { name: 'Scale all' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('spinbutton').fill('0');
    expect(await dialog.textContent()).toContain('Without workers jobs wait');
    await dialog.getByRole('spinbutton').fill(String(before));
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: `Scale 1 instance to ${before}` }).click();
    await expect.poll(async () => (await onlyInstance()).wantedWorkers, PATIENT).toBe(before);
    const changes = page.getByRole('table', { name: 'Changes' });
    await expect.poll(() => changes.textContent(), PATIENT).toContain(`{"workerCount":${before}}`);
  });
}
