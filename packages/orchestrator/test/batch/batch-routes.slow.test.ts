import type { Outbox } from '@millrace/outbox';
import { afterAll, beforeAll, describe } from 'vitest';
import { migrateOrchestrator, PostgresOperationStore } from '../../src/postgres/index.js';
import { backingSuite } from './backing-suite.js';
import { KINDS, OutboxWorld } from './outbox-world.js';
import { apart, routesSuite, type StoreKind } from './routes-suite.js';
import { sharedSuite } from './shared-suite.js';

// One database for all suites: PGlite takes seconds to boot.
describe.each(KINDS)('batch routes on %s', (kind) => {
  let world: OutboxWorld;
  let outbox: Outbox;
  let sharing: Outbox;
  let store: PostgresOperationStore | undefined;
  beforeAll(async () => {
    world = await OutboxWorld.open(kind);
    const { database } = world;
    await migrateOrchestrator(database);
    store = new PostgresOperationStore({ database });
    await store.start();
    outbox = await world.settling('apart');
    sharing = await world.settling('millrace');
  }, 60_000);
  afterAll(async () => {
    await store?.stop();
    await world?.[Symbol.asyncDispose]();
  });
  const home = () => ({ world, outbox });
  const sharingHome = () => ({ world, outbox: sharing });
  const shared: StoreKind = {
    isShared: true,
    open: async () => new PostgresOperationStore({ database: world.database }),
  };

  describe('the adapter', () => backingSuite(home, kind));
  // The adapter is the same; only what comes between it and the operations differs.
  if (kind === 'postgres') describe('operations elsewhere', () => routesSuite(() => apart)(home, kind));
  describe('operations in the same database', () => {
    routesSuite(() => shared)(sharingHome, kind);
    sharedSuite(() => store as PostgresOperationStore, shared.open)(sharingHome, kind);
  });
});
