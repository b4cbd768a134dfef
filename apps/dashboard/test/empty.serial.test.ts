import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PLACES } from '../src/shell/nav.js';
import { startWorld, type World } from './world.js';

const execute = promisify(execFile);

describe('a server on which nothing has happened', () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld('embedded');
  }, 60_000);
  afterAll(() => world?.[Symbol.asyncDispose](), 60_000);

  it('has every view, each says that there is nothing yet', async () => {
    await using opened = await world.open('/');
    const { page } = opened;
    for (const { name } of PLACES) {
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0);
      expect(await page.getByRole('alert').count(), name).toBe(0);
    }
  });

  it('offers the demo to whom the server lets start one', async () => {
    await using opened = await world.open('/', {});
    const { page } = opened;
    const welcome = page.getByRole('region', { name: 'Nothing has happened here yet' });
    const told = await world.api.call('getCaller', {});
    const offeredTo = async (caller: Partial<typeof told>) => {
      await page.route('**/api/caller', (route) => route.fulfill({ json: { ...told, ...caller } }));
      await page.reload();
      await welcome.waitFor();
      return (await welcome.getByRole('button', { name: 'Run the demo' }).count()) === 1;
    };
    expect(await offeredTo({ role: 'operate' })).toBe(true);
    expect(await offeredTo({ role: 'operate', embedded: false })).toBe(false);
    expect(await offeredTo({ role: 'admin', embedded: false })).toBe(true);
    expect(await offeredTo({ role: 'read' })).toBe(false);
    expect(await offeredTo({ role: 'admin', tenant: 'acme' })).toBe(false);
    expect(await welcome.locator('pre').textContent()).not.toContain('tenantId');
  });

  it('says how to begin: a button that runs the demo, and a command that works', async () => {
    await using opened = await world.open('/');
    const { page } = opened;
    const welcome = page.getByRole('region', { name: 'Nothing has happened here yet' });
    const command = await welcome.locator('pre').textContent();
    await welcome.getByRole('button', { name: 'Run the demo' }).click();
    await page.getByRole('region', { name: 'Shares' }).getByRole('link', { name: 'demo-whale' }).waitFor();
    await welcome.waitFor({ state: 'detached' });
    const { stdout } = await execute('bash', ['-c', `${command} --silent --show-error`]);
    expect(JSON.parse(stdout)).toMatchObject({ groupId: 'first', created: true, added: 1 });
    expect(world.complaints()).toEqual([]);
  });
});
