import { expect, it } from 'vitest';
import { seriousFindings } from '../browser.js';
import type { World } from '../world.js';

const GROUP_ID = 'page-jobs';
const WAITING = 60;
const HOSTILE = '<img src=x onerror="globalThis.hostile=1"><script>globalThis.hostile=1</script>';
const POLL = { timeout: 20_000, interval: 50 };

/** A done job, a dead one, and behind a pause many that wait. */
async function submitJobs({ api }: World): Promise<void> {
  const params = { groupId: GROUP_ID };
  const work = (id: string, payload: object) => ({ id, processorType: 'demo.work', payload });
  const first = [work('good', { ms: 1 }), work('bad', { ms: 1, fail: 'always' })];
  await api.call('submitGroup', { body: { group: { id: GROUP_ID }, jobs: first, seal: false } });
  await expect.poll(async () => (await api.call('getGroup', { params })).progress.done, POLL).toBe(2);
  await api.call('changeGroup', { params, body: { paused: true } });
  const waiting = Array.from({ length: WAITING }, (_, index) => work(`wait-${index}`, { text: HOSTILE }));
  await api.call('addJobs', { params, body: { jobs: waiting } });
}

/** The jobs of a group, and one of them. */
export function jobsPage(world: () => World): void {
  const look = (path: string) => world().open(`/groups/${GROUP_ID}/jobs${path}`);
  const jobOf = (jobId: string) => world().api.call('getJob', { params: { groupId: GROUP_ID, jobId } });

  it('lists jobs page by page, by state and by id, with both in the address', async () => {
    await submitJobs(world());
    await using opened = await look('');
    const { page } = opened;
    const rows = page.getByRole('table', { name: 'Jobs of the group' }).getByRole('row');
    await expect.poll(() => rows.count(), POLL).toBe(51);
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => rows.count(), POLL).toBe(WAITING + 2 - 50 + 1);
    await page.getByRole('combobox', { name: 'State' }).selectOption('FAILED');
    await expect.poll(() => rows.count(), POLL).toBe(2);
    expect(page.url()).toContain('state=FAILED');
    await page.getByRole('link', { name: 'bad', exact: true }).waitFor();
    const field = page.getByRole('textbox', { name: 'Id of a job' });
    await field.fill('wait-7');
    await field.press('Enter');
    await page.getByRole('link', { name: 'wait-7', exact: true }).waitFor();
    expect(page.url()).toContain('id=wait-7');
    await field.fill('wait-');
    await field.press('Enter');
    await page.getByText('The group has no such job').waitFor();
  });

  it('explains a job that waits, and shows a hostile payload as text', async () => {
    await using opened = await look('/wait-7');
    const { page } = opened;
    const params = { groupId: GROUP_ID, jobId: 'wait-7' };
    const explained = () => world().api.call('explainJob', { params });
    const steps = page.getByRole('list', { name: 'What holds it back' }).getByRole('listitem');
    let { gates, position } = await explained();
    // Others come and go while both are asked: once they must say the same.
    const isAsTheApiSays = async () => {
      ({ gates, position } = await explained());
      return (await steps.count()) === gates.length + 1;
    };
    await expect.poll(isAsTheApiSays, POLL).toBe(true);
    expect(gates[0]?.gate).toBe('PAUSED');
    const first = (await steps.first().textContent()) ?? '';
    expect(first).toContain('Its group is paused');
    expect(first).toContain(gates[0]?.detail);
    expect(position.jobsAhead).toBe(7);
    await steps
      .nth(gates.findIndex(({ gate }) => gate === 'TURN'))
      .getByText('7 jobs of its group')
      .waitFor();
    const payload = page.getByRole('region', { name: 'Payload of the job' });
    expect(JSON.parse((await payload.textContent()) ?? '')).toEqual({ text: HOSTILE });
    expect(await page.evaluate(() => (globalThis as { hostile?: number }).hostile)).toBeUndefined();
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('lists the failed tries of a dead letter, redrives it, and shows what came of a done job', async () => {
    await using opened = await look('/bad');
    const { page } = opened;
    const { failedAttempts, attempts } = await jobOf('bad');
    const tries = page.getByRole('region', { name: 'Failed tries' }).getByRole('listitem');
    await expect.poll(() => tries.count(), POLL).toBe(failedAttempts.length);
    await tries
      .first()
      .getByText(failedAttempts.at(-1)?.message as string)
      .waitFor();
    await page.getByRole('button', { name: 'Redrive' }).click();
    const dialog = page.getByRole('dialog', { name: 'Redrive 1 dead letter?' });
    await dialog.getByRole('button', { name: 'Redrive 1' }).click();
    // The group is paused: it waits with fresh tries.
    await expect.poll(async () => (await jobOf('bad')).place, POLL).toBe('LANE');
    expect((await jobOf('bad')).attempts).toBeLessThanOrEqual(attempts);
    await page.getByText('Its group is paused').waitFor();
    await page.goto(`${world().url}/groups/${GROUP_ID}/jobs/good`);
    await page.getByText('Removed after success').waitFor();
    const { resultKept, result } = await jobOf('good');
    const shown = page.getByRole('region', { name: 'Result', exact: true });
    const text = resultKept ? JSON.stringify(result, null, 2) : 'Not kept';
    await expect.poll(() => shown.textContent(), POLL).toContain(text);
  });
}
