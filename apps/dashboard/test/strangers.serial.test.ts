import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ROLES } from '@millrace/contract';
import { createServerClient, type ServerClient } from '@millrace/contract/server-client';
import { until } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_KEYS, SECRETS } from '../../server/test/security/test-keys.js';
import { demoRole, firstCommand } from '../src/rules/first-steps.js';
import { hrefOf } from '../src/rules/hrefs.js';
import { PLACES } from '../src/shell/nav.js';
import { goTo, settled, unreachedByTab } from './browser.js';
import { HOSTILE, LINK, SCRIPT, TURNED_AS_SHOWN } from './strangers-app.mjs';
import { startWorld, type World } from './world.js';

const execute = promisify(execFile);

/** What somebody who may only look can press: to see more, to go on, to take along. */
const HARMLESS =
  /^(Copy |Show |All groups|Samples|Find|Newer|Older|Larger|Smaller|Whole |Fit |Zoom |Close |Open the menu|Use another key|Light theme|Dark theme|Theme )/;
const BIZ_KEY = `${SCRIPT} ${LINK}`.slice(0, 99);

describe('a server with keys, and with texts of strangers', () => {
  let world: World;
  let boss: ServerClient;
  let batchId: string;
  let opId: string;
  beforeAll(async () => {
    world = await startWorld('embedded', {
      env: { MILLRACE_API_KEYS: API_KEYS },
      args: ['--app', fileURLToPath(new URL('strangers-app.mjs', import.meta.url))],
    });
    boss = createServerClient({ baseUrl: world.url, apiKey: SECRETS.admin });
    for (const tenant of ['acme', 'rival'])
      await boss.call('submitGroup', {
        body: {
          group: { id: 'mine', tenant },
          jobs: [
            { id: 'dead', processorType: 'strangers.fail', payload: { text: HOSTILE } },
            { id: 'waits', processorType: SCRIPT.slice(0, 100), payload: HOSTILE },
          ],
        },
      });
    const batch = { dag: 'strangers-dag', bizKey: BIZ_KEY, payload: { text: HOSTILE }, tenant: 'acme' };
    batchId = (await boss.call('startBatch', { body: batch })).id;
    const command = { domain: 'STRANGERS', eventType: 'ECHO', bizKey: BIZ_KEY, payload: HOSTILE };
    opId = (await boss.call('submitOperation', { body: { ...command, timeBudgetMs: 5_000 } })).opId;
    const session = { session_id: LINK, tenant: 'acme' };
    const { session_id: sessionId } = await boss.call('createChatSession', { body: session });
    await boss.call('queueChatMessage', { params: { sessionId }, body: { message: HOSTILE } });
    const status = async () => (await boss.call('getBatch', { params: { batchId } })).batch.status;
    await until(async () => (await status()) === 'FAILED', { what: 'the batch to fail' });
    await until(async () => (await boss.call('getQueues', {})).deadLetters === 2, { what: 'dead letters' });
  }, 60_000);
  afterAll(() => world?.[Symbol.asyncDispose](), 60_000);

  /** Every view about something that there is, with a text that must be read there. */
  function allViews(): readonly (readonly [path: string, text: string])[] {
    const groupId = 'acme/mine';
    return [
      [hrefOf('overview'), '<img src=x'],
      [hrefOf('groups'), 'acme'],
      [hrefOf('groups', undefined, { tenantId: SCRIPT, status: SCRIPT, id: SCRIPT }), 'Groups'],
      [hrefOf('group', { groupId }), '<img src=x'],
      [hrefOf('jobs', { groupId }), '<img src=x'],
      [hrefOf('job', { groupId, jobId: 'waits' }), TURNED_AS_SHOWN],
      [hrefOf('job', { groupId, jobId: 'dead' }), TURNED_AS_SHOWN],
      [hrefOf('deadLetters'), '<img src=x'],
      [hrefOf('deadLetters', undefined, { signature: SCRIPT, groupId: SCRIPT }), '<img src=x'],
      [hrefOf('batches'), LINK],
      [hrefOf('batch', { batchId }, { task: 'fails' }), TURNED_AS_SHOWN],
      [hrefOf('batch', { batchId }, { task: 'gives' }), TURNED_AS_SHOWN],
      [hrefOf('operations'), LINK],
      [hrefOf('operation', { opId }), TURNED_AS_SHOWN],
      [hrefOf('congestion'), 'strangers.fail'],
      [hrefOf('chat'), LINK],
      [hrefOf('chatSession', { sessionId: `acme/${LINK}` }), SCRIPT],
      [hrefOf('workers'), 'strangers.fail'],
    ];
  }

  it('asks for a key, says what is wrong with one, and keeps a good one for the tab only', async () => {
    await using opened = await world.open('/groups', {});
    const { page } = opened;
    const field = page.getByLabel('API key');
    await field.fill('this-is-not-a-key-of-anybody');
    await field.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('This API key is not known');
    await field.fill(SECRETS.read);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('heading', { level: 1, name: 'Groups' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Groups' }).waitFor();
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(SECRETS.read);
    await page.getByRole('button', { name: 'Use another key' }).click();
    await field.waitFor();
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain(SECRETS.read);
  });

  it('shows everything to a key that may only look, as text, and no button that does anything', async () => {
    await using opened = await world.open('/', { key: SECRETS.read });
    const { page } = opened;
    await settled(page);
    for (const [path, text] of allViews()) {
      await goTo(page, path);
      await expect.poll(() => page.getByRole('main').textContent(), { message: path }).toContain(text);
      expect(await page.evaluate(() => 'ran' in globalThis), path).toBe(false);
      expect(await page.locator('main script, main img, a[href^="javascript:" i]').count(), path).toBe(0);
      const names = await page
        .locator('button')
        .evaluateAll((all) => all.map((one) => one.ariaLabel ?? (one.textContent ?? '').trim()));
      expect(
        names.filter((name) => !HARMLESS.test(name)),
        path,
      ).toEqual([]);
      expect(await page.getByRole('main').locator('textarea, [type=checkbox]').count(), path).toBe(0);
    }
  }, 60_000);

  it('can be used with keys alone: Tab reaches every control of every view, and shows where it is', async () => {
    await using opened = await world.open('/', { key: SECRETS.admin });
    const { page } = opened;
    await settled(page);
    for (const [path] of allViews()) {
      await goTo(page, path);
      expect(await unreachedByTab(page), path).toEqual([]);
    }
  }, 60_000);

  it('shows a key of a tenant what is its own, without asking for what belongs to all', async () => {
    await using opened = await world.open('/groups', { key: SECRETS.acme });
    const { page } = opened;
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    await page.getByRole('link', { name: 'mine', exact: true }).first().waitFor();
    for (const { name, isShared } of PLACES) {
      const link = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name });
      expect(await link.count(), name).toBe(isShared ? 0 : 1);
      if (isShared) continue;
      await link.click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await settled(page);
      expect(await page.getByRole('main').textContent()).not.toContain('rival');
    }
    expect(refused).toEqual([]);
  });

  it('shows nothing of what one key was told to the next', async () => {
    const groupId = 'acme/mine';
    const job = hrefOf('job', { groupId, jobId: 'dead' });
    await using opened = await world.open(job, { key: SECRETS.admin });
    const { page } = opened;
    const read = () => page.getByRole('main').textContent();
    await expect.poll(read).toContain(TURNED_AS_SHOWN);
    await goTo(page, hrefOf('group', { groupId }));
    await expect.poll(read).toContain('<img src=x');
    await page.getByRole('button', { name: 'Use another key' }).click();
    await page.getByLabel('API key').fill(SECRETS.rival);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('of rival').waitFor();
    for (const path of [hrefOf('group', { groupId }), job]) {
      await goTo(page, path);
      await page.getByRole('alert').filter({ hasText: '_NOT_FOUND' }).first().waitFor();
      expect(await read(), path).not.toContain('<img src=x');
      expect(await read(), path).not.toContain(TURNED_AS_SHOWN);
    }
  });

  it('tells a key of a tenant a first command that works', async () => {
    const command = firstCommand({ origin: world.url, needsKey: true, seesAll: false });
    const { stdout } = await execute('bash', ['-c', `${command} --silent --show-error`], {
      env: { ...process.env, MILLRACE_API_KEY: SECRETS.acme },
    });
    expect(JSON.parse(stdout)).toMatchObject({ created: true, added: 1 });
  });

  it('offers the demo to those keys whom the server lets start one', async () => {
    for (const apiKey of Object.values(SECRETS)) {
      const client = createServerClient({ baseUrl: world.url, apiKey });
      const { role, tenant, embedded } = await client.call('getCaller', {});
      const isOffered = tenant === null && ROLES.indexOf(role) >= ROLES.indexOf(demoRole(embedded));
      // Who may stop it may start it, and there is none to stop.
      const isAllowed = await client.call('stopDemo', {}).then(
        () => true,
        () => false,
      );
      expect(isAllowed, `${role} of ${tenant}`).toBe(isOffered);
    }
  });

  it('lets the browser complain about nothing', () => expect(world.complaints()).toEqual([]));
});
