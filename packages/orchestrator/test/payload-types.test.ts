import { expect, expectTypeOf, it } from 'vitest';
import { batch } from '../src/batch/batch-route.js';
import { bulk } from '../src/bulk/bulk-route.js';
import { defineRoutes, inline } from '../src/define-routes.js';
import type { Command } from '../src/model.js';

interface Order {
  readonly price: number;
}

it('a payload is what the route says it is, and all routes go together', () => {
  const routes = defineRoutes({
    'ORDER.PLACE': inline<Order>(({ payload }) => payload.price * 2),
    'ORDER.CHECK': inline(async ({ payload }: Command<Order>) => payload.price > 0),
    'ORDER.SHIP': bulk<{ readonly items: readonly string[] }>(({ payload }) => ({
      jobs: payload.items.map((id) => ({ id, processorType: 'ship' })),
    })),
    'ORDER.SETTLE': batch<Order>('settle', ({ payload }) => ({ cents: payload.price * 100 })),
  });
  expect(Object.keys(routes)).toHaveLength(4);
});

it('a payload of which nothing is said is unknown', () => {
  const routes = [
    inline(({ payload }) => expectTypeOf(payload).toBeUnknown()),
    bulk(({ payload }) => {
      expectTypeOf(payload).toBeUnknown();
      return { jobs: [] };
    }),
    batch('settle', ({ payload }) => expectTypeOf(payload).toBeUnknown()),
    // @ts-expect-error nobody has said that there is a price.
    inline(({ payload }) => payload.price),
    // @ts-expect-error this one has no weight.
    inline<Order>(({ payload }) => payload.weight),
  ];
  expect(routes).toHaveLength(5);
});
