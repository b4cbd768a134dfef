import type { HealthBody } from '@millrace/contract';
import { expect, it } from 'vitest';
import type { World } from '../world.js';

/** The overview. */
export function overviewPage(world: () => World): void {
  it('says what the API says: tenants, dead letters, shares', async () => {
    await using opened = await world().open('/');
    const { page } = opened;
    const shares = page.getByRole('region', { name: 'Shares' });
    await shares.getByRole('link', { name: 'demo-whale' }).waitFor();
    const stat = page.getByRole('region', { name: 'How everything stands' });
    await expect
      .poll(async () => {
        const { deadLetters } = await world().api.call('getQueues', {});
        const said = await stat.getByRole('link', { name: /^Dead letters/ }).textContent();
        return said === `Dead letters${deadLetters.toLocaleString('en-GB')}failed for good`;
      })
      .toBe(true);
    const { checks } = (await (await fetch(`${world().url}/health/ready`)).json()) as HealthBody;
    for (const { name } of checks) await page.getByText(`${name} well`, { exact: true }).waitFor();
    const label = await shares.getByRole('img', { name: /^demo-whale gets/ }).getAttribute('aria-label');
    expect(label).toMatch(/^demo-whale gets [\d.]+%, its fair share is [\d.]+%$/);
  });

  it('draws the last hours, and keeps the range in the address', async () => {
    await using opened = await world().open('/');
    const { page } = opened;
    await page.getByRole('img', { name: 'Jobs done and failed per second over time' }).waitFor();
    await page.getByRole('group', { name: 'Time range' }).getByText('6 hours').click();
    await expect.poll(() => page.url()).toContain('range=6h');
    await page.reload();
    await expect.poll(() => page.getByRole('radio', { name: '6 hours' }).isChecked()).toBe(true);
  });
}
