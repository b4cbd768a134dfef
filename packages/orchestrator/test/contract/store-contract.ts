import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { acceptSuite } from './accept-suite.js';
import { claimSuite } from './claim-suite.js';
import { Home, type OpenStore, type StorePlace } from './home.js';
import { hostileSuite } from './hostile-suite.js';
import { repairsSuite } from './repairs-suite.js';
import { settleSuite } from './settle-suite.js';
import { transitionsSuite } from './transitions-suite.js';
import { viewsSuite } from './views-suite.js';

const SUITES = {
  accept: acceptSuite,
  settle: settleSuite,
  claim: claimSuite,
  repairs: repairsSuite,
  transitions: transitionsSuite,
  views: viewsSuite,
  hostile: hostileSuite,
};

/** What every OperationStore has to do. */
export function operationStoreContract(place: StorePlace): void {
  describe(`the ${place.kind} store`, () => {
    let opened: OpenStore;
    let home: Home;
    beforeAll(async () => {
      opened = await place.open();
    }, 60_000);
    beforeEach(async () => {
      await opened.clear();
      home = new Home(opened);
    });
    afterAll(() => opened.close());
    for (const [theme, suite] of Object.entries(SUITES)) describe(theme, () => suite(() => home, place.kind));
  });
}
