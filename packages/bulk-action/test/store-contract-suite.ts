import { afterEach, describe } from 'vitest';
import * as aggregating from './store-contract/aggregating.js';
import * as changing from './store-contract/changing.js';
import * as claims from './store-contract/claiming.js';
import * as clocks from './store-contract/clocks.js';
import { expectConservation } from './store-contract/conservation.js';
import * as letters from './store-contract/dead-letters.js';
import * as deadlines from './store-contract/deadlines.js';
import { disordering } from './store-contract/disorder.js';
import * as dispatching from './store-contract/dispatching.js';
import * as gating from './store-contract/gating.js';
import * as hearing from './store-contract/hearing.js';
import * as keeping from './store-contract/keeping.js';
import * as leasing from './store-contract/leasing.js';
import * as names from './store-contract/names.js';
import * as ordering from './store-contract/ordering.js';
import * as presence from './store-contract/presence.js';
import { reconciling } from './store-contract/reconciling.js';
import * as registering from './store-contract/registering.js';
import { repeating } from './store-contract/repeating.js';
import { limiting } from './store-contract/resources.js';
import * as settling from './store-contract/settling.js';
import { slowing } from './store-contract/slowing.js';
import type { OpenStore, StoreHarness } from './store-contract/tools.js';
import { turning } from './store-contract/turns.js';
import * as viewing from './store-contract/viewing.js';
import * as watching from './store-contract/watching.js';

/**
 * The one suite that every `BulkStore` passes. After each test every count must agree with every place.
 * @param name - of the store: `'memory'`.
 * @param open - makes an empty store for one test; the suite closes it.
 * @param parts - of the contract; all of it unless given.
 */
export function bulkStoreContract(
  name: string,
  open: OpenStore,
  parts: readonly ContractPart[] = ALL_PARTS,
): void {
  describe(`BulkStore ${name}`, () => {
    const harnesses: StoreHarness[] = [];
    afterEach(async () => {
      const opened = harnesses.splice(0);
      try {
        for (const harness of opened) await expectConservation(harness);
      } finally {
        for (const harness of opened) await harness.close();
      }
    });
    // Only tests that are about the engine's own rate meet it.
    const openOne: OpenStore = async (config = {}, size) => {
      const backpressure = { globalRps: 0, ...config.backpressure };
      const harness = await open({ ...config, backpressure }, size);
      harnesses.push(harness);
      return harness;
    };
    for (const part of parts) PARTS[part](openOne);
  });
}

function describeGroups(open: OpenStore): void {
  describe('bulk-action BA-1: create', () => registering.creating(open));
  describe('bulk-action BA-1: add', () => registering.adding(open));
  describe('bulk-action BA-1: add in bulk, early and late', () => registering.addingMore(open));
  describe('bulk-action BA-2: limits on what may wait', () => registering.filling(open));
  describe('bulk-action BA-13: seal', () => registering.sealing(open));
  describe('bulk-action BA-13: cancel', () => changing.cancelling(open));
  describe('bulk-action BA-13: cancel while tries run', () => changing.cancellingWork(open));
  describe('bulk-action BA-2: pause and resume', () => changing.pausing(open));
  describe('bulk-action BA-1: update', () => changing.updating(open));
}

function describeGate(open: OpenStore): void {
  describe('bulk-action BA-1: fair order', () => ordering.ordering(open));
  describe('bulk-action BA-1: coming and going', () => ordering.arriving(open));
  describe('bulk-action BA-1: weights that move', () => ordering.reordering(open));
  describe('bulk-action BA-1: what a turn costs', () => ordering.charging(open));
  describe('bulk-action BA-4: the ready bound', () => gating.bounding(open));
  describe('bulk-action BA-4: a full ready', () => gating.filled(open));
  describe('bulk-action BA-2: caps', () => gating.capping(open));
  describe('bulk-action BA-2: lowered caps', () => gating.lowering(open));
  describe('bulk-action BA-2: rates', () => gating.limiting(open));
  describe('bulk-action BA-2: rates over retries, costs and time', () => gating.limitingAlways(open));
  describe('bulk-action BA-2: tokens', () => gating.spending(open));
  describe('bulk-action BA-4: deadlines', () => gating.expiring(open));
  describe('bulk-action BA-6: dispatch', () => dispatching.dispatching(open));
  describe('bulk-action BA-6: due jobs that the gate refuses', () => dispatching.returning(open));
  describe('bulk-action BA-6: due jobs in their turn', () => dispatching.returningInTurn(open));
  describe('bulk-action BA-2: admit', () => dispatching.admitting(open));
  describe('bulk-action BA-2: admit too early, too late, too fast', () => dispatching.admittingLater(open));
}

function describeLeases(open: OpenStore): void {
  describe('bulk-action BA-3: limited resources', () => limiting(open));
  describe('bulk-action BA-3: congestion control', () => slowing(open));
  describe('bulk-action BA-5: reserve that takes turns', () => turning(open));
  describe('bulk-action BA-15: reserve', () => leasing.reserving(open));
  describe('bulk-action BA-18: reserve by several, and repeated', () => leasing.reservingAgain(open));
  describe('bulk-action BA-15: renew', () => leasing.renewing(open));
  describe('bulk-action BA-10: give back', () => leasing.givingBack(open));
  describe('bulk-action BA-10: give everything back', () => leasing.givingAllBack(open));
  describe('bulk-action BA-15: recover', () => leasing.recovering(open));
  describe('bulk-action BA-15: recover at its edges', () => leasing.burying(open));
  describe('bulk-action BA-5: settle', () => settling.settling(open));
  describe('bulk-action BA-8: settle as to be tried again', () => settling.retrying(open));
  describe('bulk-action BA-8: settle as failed', () => settling.failing(open));
  describe('bulk-action BA-15: who may settle', () => settling.fencing(open));
  describe('bulk-action BA-15: who may not settle', () => settling.fencingTheEnd(open));
  describe('bulk-action BA-13: results', () => settling.resulting(open));
  describe('bulk-action BA-8: dead letters', () => letters.listingLetters(open));
  describe('bulk-action BA-8: signatures', () => letters.signing(open));
  describe('bulk-action BA-8: redrive', () => letters.redriving(open));
  describe('bulk-action BA-8: redrive some', () => letters.redrivingSome(open));
  describe('bulk-action BA-8: redrive as if it had never run', () => letters.redrivingAfresh(open));
  describe('bulk-action BA-8: purge', () => letters.purging(open));
}

function describeEngine(open: OpenStore): void {
  describe('bulk-action BA-13: what settlements leave', () => aggregating.gathering(open));
  describe('bulk-action BA-13: groups that aggregate', () => aggregating.aggregatingGroups(open));
  describe('bulk-action BA-13: claims', () => claims.claiming(open));
  describe('bulk-action BA-13: the end of an aggregation', () => claims.finishing(open));
  describe('bulk-action BA-13: retention', () => keeping.keeping(open));
  describe('bulk-action BA-13: sweep', () => keeping.sweeping(open));
  describe('bulk-action BA-8: what dead letters keep', () => keeping.keepingLetters(open));
  describe('bulk-action BA-13: rounds', () => keeping.keepingRounds(open));
  describe('bulk-action BA-14: groups without progress', () => watching.timingOut(open));
  describe('bulk-action BA-14: what moves a timeout', () => watching.changingTimeouts(open));
  describe('bulk-action BA-14: deadlines, and many groups', () => deadlines.watchingDeadlines(open));
  describe('bulk-action BA-14: aggregations', () => deadlines.watchingAggregations(open));
  describe('bulk-action BA-14: reconcile', () => reconciling(open));
  describe('bulk-action BA-18: instances', () => presence.living(open));
  describe('bulk-action BA-15: once only', () => presence.onceOnly(open));
  describe('bulk-action BA-5: wake-ups', () => hearing.waking(open));
  describe('bulk-action BA-6: wake-ups for due times', () => hearing.wakingOnTime(open));
  describe('bulk-action BA-13: events', () => hearing.announcing(open));
  describe('bulk-action BA-13: events of letters and progress', () => hearing.announcingMore(open));
  describe('bulk-action BA-13: groups listed', () => viewing.listing(open));
  describe('bulk-action BA-13: jobs listed', () => viewing.listingJobs(open));
  describe('bulk-action BA-1: shares and queues', () => viewing.sharing(open));
  describe('bulk-action BA-2: explain', () => viewing.explaining(open));
  describe('bulk-action BA-5: explain workers and places', () => viewing.explainingWorkers(open));
  describe('bulk-action BA-15: a clock set back', () => clocks.setBack(open));
  describe('bulk-action BA-2: limits under a clock set back', () => clocks.setBackLimits(open));
  describe('bulk-action BA-15: a clock set forward', () => clocks.setForward(open));
  describe('bulk-action BA-18: namespaces', () => names.separating(open));
  describe('bulk-action BA-18: hostile job ids', () => names.naming(open));
  describe('bulk-action BA-18: hostile names', () => names.namingEverything(open));
  describe('bulk-action BA-15: repeated after a lost answer', () => repeating(open));
}

const describeDisorder =
  (...seeds: readonly number[]) =>
  (open: OpenStore) =>
    describe('bulk-action BA-15: disorder', () => disordering(open, seeds));

const PARTS = {
  groups: describeGroups,
  gate: describeGate,
  leases: describeLeases,
  engine: describeEngine,
  disorder: describeDisorder(1, 2, 3, 4, 5, 6),
  // On a server with several shards each takes five times as long.
  'some disorder': describeDisorder(1, 2),
};

/** A part of the contract. */
type ContractPart = keyof typeof PARTS;

const ALL_PARTS: readonly ContractPart[] = ['groups', 'gate', 'leases', 'engine', 'disorder'];
