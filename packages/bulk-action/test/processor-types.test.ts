import { expect, expectTypeOf, it } from 'vitest';
import { defineProcessor, type Job, ProcessorRegistry } from '../src/processor.js';

interface Mail {
  readonly to: string;
}

it('a payload is what the processor says it is, by its type or by that of its handler', () => {
  const { types } = new ProcessorRegistry([
    defineProcessor<Mail>({ type: 'a', process: ({ payload }) => payload.to }),
    defineProcessor<Mail, number>({ type: 'b', process: ({ payload }) => payload.to.length }),
    defineProcessor({ type: 'c', process: ({ payload }: Job<Mail>) => payload.to }),
    // @ts-expect-error a mail has no amount.
    defineProcessor<Mail>({ type: 'd', process: ({ payload }) => payload.amount }),
    // @ts-expect-error the data is a number.
    defineProcessor<Mail, number>({ type: 'e', process: ({ payload }) => payload.to }),
  ]);
  expect(types).toHaveLength(5);
});

it('a payload of which nothing is said is unknown, in the list of an engine too', () => {
  const alone = defineProcessor({
    type: 'alone',
    process: ({ payload }) => expectTypeOf(payload).toBeUnknown(),
  });
  const { types } = new ProcessorRegistry([
    alone,
    defineProcessor({ type: 'listed', process: ({ payload }) => expectTypeOf(payload).toBeUnknown() }),
  ]);
  expect(types).toEqual(['alone', 'listed']);
});
