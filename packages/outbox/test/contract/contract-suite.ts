import { afterAll, beforeAll, describe } from 'vitest';
import type { PlaceKind } from '../open-outbox.js';
import { appliedSuite } from './applied-suite.js';
import { batchEndSuite } from './batch-end-suite.js';
import { failureSuite } from './failure-suite.js';
import { Home } from './home.js';
import { hostileSuite } from './hostile-suite.js';
import { joinsSuite } from './joins-suite.js';
import { lifecycleSuite } from './lifecycle-suite.js';
import { operationsSuite } from './operations-suite.js';
import { policiesSuite } from './policies-suite.js';
import { pusherSuite } from './pusher-suite.js';
import { retentionSuite } from './retention-suite.js';
import { retrySuite } from './retry-suite.js';
import { runSuite } from './run-suite.js';
import { schedulesSuite } from './schedules-suite.js';
import { sizeSuite } from './size-suite.js';
import { viewsSuite } from './views-suite.js';

const SUITES = {
  Pusher: pusherSuite,
  'hostile callers': hostileSuite,
  'running tasks': runSuite,
  joins: joinsSuite,
  'failure policies and conditions': policiesSuite,
  failures: failureSuite,
  operations: operationsSuite,
  retry: retrySuite,
  views: viewsSuite,
  onBatchEnd: batchEndSuite,
  'start and stop': lifecycleSuite,
  schedules: schedulesSuite,
  retention: retentionSuite,
  'applied DAGs': appliedSuite,
  size: sizeSuite,
};

/** All that the core of an outbox promises, on one kind of database. One database for all of it: PGlite takes seconds to boot. */
export function outboxContract(place: PlaceKind): void {
  describe(`the outbox on ${place.kind}`, () => {
    let home: Home | undefined;
    beforeAll(async () => {
      home = await Home.open(place);
    }, 60_000);
    afterAll(() => home?.[Symbol.asyncDispose]());
    const opened = (): Home => {
      if (!home) throw new Error('a test ran before its database was open');
      return home;
    };
    for (const [name, suite] of Object.entries(SUITES)) describe(name, () => suite(opened, place.kind));
  });
}
