import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, FormatError } from '../../../src/next/engine/format/bytes.js';
import { bodyAt, decodeChunk, encodeChunk } from '../../../src/next/engine/format/chunk.js';
import {
  addressOf,
  chunkAddress,
  DEFAULT_QUEUE,
  firstPosition,
  indexOf,
  madeId,
  positionOfMadeId,
  queueOf,
} from '../../../src/next/engine/state/position.js';
import { newJob } from './store.js';

const text = fc.string({ unit: 'grapheme', maxLength: 100 });
/** −0 is written as 0. */
const double = fc.double().map((value) => (value === 0 ? 0 : value));
const count = fc.integer({ min: 0, max: 2 ** 51 });
const VALUES = {
  count: fc.oneof(count, fc.integer({ min: 0, max: 300 })),
  integer: fc.integer({ min: -(2 ** 51), max: 2 ** 51 }),
  float: double,
  number: fc.oneof(double, count),
  tag: fc.oneof(
    double.filter((value) => !Number.isNaN(value)),
    fc.integer({ min: 0, max: 1e6 }).map((units) => units / 64),
  ),
  text,
};
type Kind = keyof typeof VALUES;
const kinds = Object.keys(VALUES) as Kind[];
const entries = fc.array(
  fc
    .constantFrom(...kinds)
    .chain((kind) => (VALUES[kind] as fc.Arbitrary<never>).map((value) => [kind, value] as const)),
);

function write(values: readonly (readonly [Kind, never])[]): Uint8Array {
  const writer = new ByteWriter().begin(7);
  for (const [kind, value] of values) writer[kind](value);
  return writer.finish();
}

describe('bytes', () => {
  it('come back as they were written', () => {
    fc.assert(
      fc.property(entries, (values) => {
        const reader = new ByteReader(write(values), 7);
        expect(values.map(([kind]) => reader[kind]())).toEqual(values.map(([, value]) => value));
        expect(reader.isAtEnd).toBe(true);
      }),
    );
  });

  it('are refused if one of them is damaged or missing, or if the version is another', () => {
    fc.assert(
      fc.property(entries, fc.nat(), fc.integer({ min: 1, max: 255 }), (values, at, change) => {
        const bytes = write(values);
        bytes[at % bytes.length] = (bytes[at % bytes.length] as number) ^ change;
        expect(() => new ByteReader(bytes, 7)).toThrow(FormatError);
        expect(() => new ByteReader(bytes.subarray(1), 7)).toThrow(FormatError);
      }),
    );
    expect(() => new ByteReader(write([]), 8)).toThrow('Version 7 is stored, 8 is known');
  });
});

describe('positions', () => {
  it('name queue, chunk and index, in the order of registration', () => {
    const parts = fc.tuple(fc.integer({ min: 0, max: 9 }), fc.nat(2 ** 30), fc.nat(63));
    fc.assert(
      fc.property(parts, ([queue, chunk, index]) => {
        const position = firstPosition(chunkAddress(queue, chunk)) + index;
        expect([queueOf(position), addressOf(position), indexOf(position)]).toEqual([
          queue,
          chunkAddress(queue, chunk),
          index,
        ]);
        expect(positionOfMadeId(madeId(position))).toBe(position);
      }),
    );
    expect(madeId(firstPosition(chunkAddress(DEFAULT_QUEUE, 1)))).toBe('_65');
    expect(madeId(firstPosition(chunkAddress(9, 0)))).toBe('_9.1');
    expect(['_0', '_x', '1', '_12.1', '_req:1'].map(positionOfMadeId)).toEqual(Array(5).fill(undefined));
  });
});

describe('chunks', () => {
  const job = fc.record({
    id: fc.stringMatching(/^[A-Za-z0-9._:-]{0,20}$/),
    type: fc.constantFrom('A', 'B', 'C'),
    cost: fc.integer({ min: 1, max: 9 }),
    charge: fc.option(fc.double({ min: 0, max: 9, noNaN: true }), { nil: undefined }),
    deadlineMs: fc.option(fc.nat(), { nil: undefined }),
    traceparent: fc.option(fc.constant('00-ab-cd-01'), { nil: undefined }),
    payload: fc.jsonValue().map((value) => JSON.stringify(value)),
  });

  it('give back each job as it was submitted', () => {
    const jobs = fc.array(job, { minLength: 1, maxLength: 64 });
    fc.assert(
      fc.property(jobs, fc.option(fc.nat(), { nil: undefined }), (given, dueMs) => {
        const chunk = decodeChunk(3, encodeChunk(given, { createdMs: 5, dueMs }));
        expect(chunk).toMatchObject({ address: 3, createdMs: 5, dueMs });
        expect(chunk.lines.map((_, index) => bodyAt(chunk, index))).toEqual(given);
        expect(bodyAt(chunk, given.length)).toBeUndefined();
      }),
    );
  });

  it('are refused if a character is damaged', () => {
    const chunk = encodeChunk([newJob({ payload: '{"to":"ada"}' })], { createdMs: 5 });
    expect(() => decodeChunk(0, chunk.replace('ada', 'eve'))).toThrow(FormatError);
  });
});
