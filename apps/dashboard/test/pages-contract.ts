import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { batchesPage } from './pages/batches.js';
import { chatPage } from './pages/chat.js';
import { congestionPage } from './pages/congestion.js';
import { deadLettersPage } from './pages/dead-letters.js';
import { groupPage } from './pages/group.js';
import { groupsPage } from './pages/groups.js';
import { jobsPage } from './pages/jobs.js';
import { operationsPage } from './pages/operations.js';
import { overviewPage } from './pages/overview.js';
import { workersPage } from './pages/workers.js';
import { startWorld, type World, type WorldKind } from './world.js';

/** A page, looked at and used. */
type PageTests = (world: () => World) => void;

const PAGES: Readonly<Record<string, PageTests>> = {
  overview: overviewPage,
  groups: groupsPage,
  group: groupPage,
  jobs: jobsPage,
  'dead letters': deadLettersPage,
  batches: batchesPage,
  operations: operationsPage,
  congestion: congestionPage,
  chat: chatPage,
  workers: workersPage,
};

/** Work for as long as all pages are looked at; it ends with the server. */
const DEMO = { seconds: 300, whaleJobs: 20_000, tenants: 3 };

const WORKERS = 4;

/**
 * Every page and every action in a real Chromium, against a real server with the demo workload: what the page says is what the API says.
 * @param kind - where the server keeps its work.
 * @param more - what else is looked at there.
 */
export function pagesContract(kind: WorldKind, more: Readonly<Record<string, PageTests>> = {}): void {
  describe(`the page of a server ${kind}`, () => {
    let world: World;
    beforeAll(async () => {
      world = await startWorld(kind);
      // What the demo takes of the machine the browser does not have.
      await world.api.call('scalePool', { body: { workerCount: WORKERS } });
      await world.api.call('startDemo', { body: DEMO });
    }, 60_000);
    afterAll(() => world?.[Symbol.asyncDispose](), 60_000);
    for (const [name, tests] of Object.entries({ ...PAGES, ...more }))
      describe(name, () => tests(() => world));
    it('lets the browser complain about nothing', () => expect(world.complaints()).toEqual([]));
  });
}
