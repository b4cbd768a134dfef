import type { GroupBody } from '@millrace/contract';
import { expect, it } from 'vitest';
import type { World } from '../world.js';

const ID = 'page-group';
const GROUP_ID = `acme/${ID}`;
const PATH = `/groups/${encodeURIComponent(GROUP_ID)}`;
const GOOD = 4;
const BAD = 2;
const POLL = { timeout: 20_000, interval: 50 };

const groupOf = (world: World, groupId = GROUP_ID): Promise<GroupBody> =>
  world.api.call('getGroup', { params: { groupId } });

/** Jobs of which some fail for good; the group waits until it is sealed. */
async function submitMixed({ api }: World): Promise<void> {
  const job = (index: number) => ({
    id: `job-${index}`,
    processorType: 'demo.work',
    payload: { ms: 1, ...(index < BAD && { fail: 'always' }) },
  });
  const jobs = Array.from({ length: GOOD + BAD }, (_, index) => job(index));
  await api.call('submitGroup', { body: { group: { id: ID, tenant: 'acme', weight: 2.5 }, jobs } });
}

/** A group that somebody has paused before its jobs came. */
async function submitPaused({ api }: World, id: string): Promise<void> {
  await api.call('submitGroup', { body: { group: { id, rps: 50, concurrency: 3 } } });
  await api.call('changeGroup', { params: { groupId: id }, body: { paused: true } });
  const jobs = Array.from({ length: 3 }, (_, index) => ({
    id: `job-${index}`,
    processorType: 'demo.work',
    payload: { ms: 1 },
  }));
  await api.call('addJobs', { params: { groupId: id }, body: { jobs } });
}

/** One group. */
export function groupPage(world: () => World): void {
  it('says of a group that has ended what the API says: progress, result, errors', async () => {
    await submitMixed(world());
    await expect.poll(async () => (await groupOf(world())).status, POLL).toBe('COMPLETED');
    await using opened = await world().open(PATH);
    const { page } = opened;
    const progress = page.getByRole('region', { name: 'Progress', exact: true });
    await progress.getByText('6 of 6 jobs').waitFor();
    const meter = progress.getByRole('img');
    expect(await meter.getAttribute('aria-label')).toBe(`Jobs of the group: ${GOOD} done, ${BAD} failed`);
    const params = { groupId: GROUP_ID };
    const result = await world().api.call('getGroupResult', { params });
    const shown = page.getByRole('region', { name: 'Result' });
    await shown.getByText('66.7%').waitFor();
    expect(result.successRate).toBeCloseTo(GOOD / (GOOD + BAD));
    for (const code of Object.keys(result.failedByCode)) await shown.getByText(code).waitFor();
    const { signatures = [] } = await world().api.call('listDeadLetters', {
      query: { groupId: GROUP_ID, groupBy: 'signature' },
    });
    const failures = page.getByRole('region', { name: 'Failed jobs by error' });
    for (const { signature } of signatures) await failures.getByRole('link', { name: signature }).waitFor();
    const { points } = await world().api.call('getGroupProgress', { params });
    const history = page.getByRole('region', { name: 'Progress over time' });
    await history.getByText(`done ${points.at(-1)?.success}`).waitFor();
    await page.getByRole('region', { name: 'Limits and what holds it back' }).getByText('2.5').waitFor();
  });

  it('redrives the dead letters of the group by keys alone, and keeps the result of each round', async () => {
    await using opened = await world().open(PATH);
    const { page } = opened;
    await page.getByRole('button', { name: `Redrive ${BAD}` }).press('Enter');
    const dialog = page.getByRole('dialog', { name: `Redrive ${BAD} dead letters?` });
    await dialog.getByText(GROUP_ID).waitFor();
    await dialog.getByRole('button', { name: `Redrive ${BAD}` }).press('Enter');
    await expect
      .poll(async () => {
        const { round, status } = await groupOf(world());
        return `${round} ${status}`;
      }, POLL)
      .toBe('2 COMPLETED');
    const last = page.getByRole('region', { name: 'Result of round 2' });
    await last.getByRole('combobox', { name: 'Round' }).selectOption('1');
    await page.getByRole('region', { name: 'Result of round 1' }).getByText('66.7%').waitFor();
    expect(page.url()).toContain('round=1');
  });

  it('says why a group waits, resumes it, and knows no group that there is not', async () => {
    const id = 'page-group-paused';
    await submitPaused(world(), id);
    await using opened = await world().open(`/groups/${id}`);
    const { page } = opened;
    const gates = page.getByRole('list', { name: 'What holds it back' });
    await gates.getByRole('listitem').first().getByText('Its group is paused').waitFor();
    await gates.getByText('holds it now').waitFor();
    const limits = page.getByRole('region', { name: 'Limits and what holds it back' });
    await limits.getByText('50', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Resume' }).press('Enter');
    await expect.poll(async () => (await groupOf(world(), id)).paused, POLL).toBe(false);
    await expect.poll(async () => (await groupOf(world(), id)).progress.done, POLL).toBe(3);
    await page.getByText('3 of 3 jobs so far').waitFor();
    await page.getByText('It waits for more jobs').waitFor();
    await page.goto(`${world().url}/groups/nobody%2Fnone`);
    await page.getByText('GROUP_NOT_FOUND').waitFor();
  });
}
