import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, WORKERS, type World, type WorldKind } from './world.js';

/** A page, looked at and used. */
type PageTests = (world: () => World) => void;

/** Work for as long as all pages are looked at; it ends with the server. */
const DEMO = { seconds: 300, whaleJobs: 20_000, tenants: 3 };

/**
 * Pages and their actions in a real Chromium, against a real server with the demo workload: what the page says is what the API says.
 */
export function lookAt(kind: WorldKind, pages: Readonly<Record<string, PageTests>>): void {
  describe(`the page of a server ${kind}`, () => {
    let world: World;
    beforeAll(async () => {
      world = await startWorld(kind);
      await world.api.call('scalePool', { body: { workerCount: WORKERS } });
      await world.api.call('startDemo', { body: DEMO });
    }, 60_000);
    afterAll(() => world?.[Symbol.asyncDispose](), 60_000);
    for (const [name, tests] of Object.entries(pages)) describe(name, () => tests(() => world));
    it('lets the browser complain about nothing', () => expect(world.complaints()).toEqual([]));
  });
}
