import { aggregating } from '../store-contract/aggregating.js';
import type { StoreHarness } from '../store-contract/tools.js';
import type { Act, ScriptName } from './act.js';

const LATER_MS = 60_000;

/** A group whose results wait to be added up. */
const aggregate = (harness: StoreHarness) => aggregating(harness, 't/sum');

/** The same, under the lock of `mine`. */
async function claim(harness: StoreHarness): Promise<void> {
  await aggregate(harness);
  await harness.store.aggregations.claim('mine', LATER_MS);
}

async function failThrice(harness: StoreHarness): Promise<void> {
  const { aggregations } = harness.store;
  await aggregate(harness);
  for (const token of ['a', 'b', 'c']) {
    await aggregations.claim(token, LATER_MS);
    await aggregations.fail('t/sum', 1, token, 'no');
    await harness.advance(5000);
  }
  await aggregations.claim('mine', LATER_MS);
}

/** The verbs of aggregations with their uses. */
export const AGGREGATION_ACTS = {
  claimAggregation: [
    {
      what: 'claim',
      again: 'same',
      before: aggregate,
      act: ({ store }) => store.aggregations.claim('mine', LATER_MS),
    },
    {
      what: 'claim one group',
      again: 'same',
      before: aggregate,
      act: ({ store }) => store.aggregations.claimGroup('t/sum', 'mine', LATER_MS),
    },
    {
      what: 'claim what another has',
      again: 'same',
      idle: true,
      before: claim,
      act: ({ store }) => store.aggregations.claim('yours', LATER_MS),
    },
  ],
  renewAggregation: [
    {
      what: 'renew',
      again: 'same',
      before: claim,
      act: ({ store }) => store.aggregations.renew('t/sum', 1, 'mine', 2 * LATER_MS),
    },
    {
      what: 'give back',
      again: 'same',
      before: claim,
      act: ({ store }) => store.aggregations.renew('t/sum', 1, 'mine', 0),
    },
  ],
  finishAggregation: [
    {
      what: 'finish',
      again: 'same',
      before: claim,
      act: ({ store }) => store.aggregations.finish('t/sum', 1, 'mine', '{"sum":1}'),
    },
  ],
  failAggregation: [
    {
      what: 'fail',
      again: 'same',
      before: claim,
      act: ({ store }) => store.aggregations.fail('t/sum', 1, 'mine', 'no'),
    },
    {
      what: 'fail for good',
      again: 'same',
      before: failThrice,
      act: ({ store }) => store.aggregations.fail('t/sum', 1, 'mine', 'no'),
    },
  ],
  readResults: [
    {
      what: 'look',
      again: 'same',
      idle: true,
      before: aggregate,
      act: ({ store }) => store.aggregations.page('t/sum', 1),
    },
  ],
  findResult: [
    {
      what: 'look',
      again: 'same',
      idle: true,
      before: aggregate,
      act: ({ store }) => store.aggregations.find('t/sum', 'j0', 9),
    },
  ],
} satisfies Partial<Record<ScriptName, readonly Act[]>>;
