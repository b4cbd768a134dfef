import { expect, it, onTestFinished } from 'vitest';
import { countText, rateText } from '../../src/rules/amounts.js';
import { byHolding } from '../../src/rules/congestion-lines.js';
import { WORKERS, type World } from '../world.js';

/** The service of the demo that refuses calls. */
const SERVICE = 'demo-service';
const LIVE = { timeout: 20_000 };
/** A tenth of a second for a job, eight tenants: twice as many calls as it takes. */
const BUSY_WORKERS = 16;

/** Called services. */
export function congestionPage(world: () => World): void {
  it('says of each service what the API says, those that hold work back first, and keeps the range in the address', async () => {
    const { api, open } = world();
    // With as few workers as the other pages have, the share of the caller may be less than its service takes: then nothing is refused.
    await api.call('scalePool', { body: { workerCount: BUSY_WORKERS } });
    onTestFinished(async () => void (await api.call('scalePool', { body: { workerCount: WORKERS } })));
    await expect
      .poll(
        async () => (await api.call('getCongestion', { query: {} })).resources.map(({ limit }) => limit),
        LIVE,
      )
      .toContainEqual(expect.any(Number));
    await using opened = await open('/congestion');
    const { page } = opened;
    const card = page.getByRole('region', { name: SERVICE, exact: true });
    await page.getByRole('img', { name: `Calls that ${SERVICE} refused over time` }).waitFor();
    // Both move while they are compared: once they must say the same.
    await expect
      .poll(async () => {
        const { resources } = await api.call('getCongestion', { query: {} });
        const { limit, starts, throttles } = resources.find(({ resource }) => resource === SERVICE) ?? {};
        const said = await card.locator('dl').textContent();
        const titles = await page.getByRole('heading', { level: 2 }).allTextContents();
        return (
          JSON.stringify(titles) === JSON.stringify(byHolding(resources).map(({ resource }) => resource)) &&
          said?.includes(`Limit${rateText(limit)}/s`) === true &&
          said.includes(`Calls${countText(starts)}`) &&
          said.includes(`Refused${countText(throttles)} (`)
        );
      }, LIVE)
      .toBe(true);
    await page.getByText(`${SERVICE} holds work back`).waitFor();
    await page.getByRole('group', { name: 'Time range' }).getByText('hour').click();
    await card.getByText('refused in 40 s').waitFor();
    await page.reload();
    await expect.poll(() => page.getByRole('radio', { name: 'hour' }).isChecked()).toBe(true);
  });
}
