import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, FormatError } from '../../../src/next/engine/format/bytes.js';
import { END_KEPT } from '../../../src/next/engine/format/changes.js';
import { type Codec, Sink, Source } from '../../../src/next/engine/format/codec.js';
import { KEPT } from '../../../src/next/engine/format/record.js';
import { decodeValue, encodeValue } from '../../../src/next/engine/format/side-values.js';
import { resolveEngineConfig } from '../../../src/next/engine/state/config.js';
import { Kept } from '../../../src/next/engine/state/kept.js';
import { EngineState } from '../../../src/next/engine/state/state.js';

/** Returns what comes back of a value. */
function stored<T>({ write, read }: Codec<T>, value: T): T {
  const bytes = new ByteWriter().begin(1);
  write(new Sink(bytes, { atUs: 0, epoch: 1 }), value);
  const state = new EngineState(resolveEngineConfig({}));
  return read(new Source(new ByteReader(bytes.finish(), 1), state, 0));
}

describe('what a group kept', () => {
  it('comes back from its record, each field as it was', () => {
    const kept = new Kept();
    Object.assign(kept, { results: 9, resultsFrom: 2, resultBytes: 3_000, resultsDropped: 4, details: 5 });
    kept.letters = 6;
    kept.aggregators.push('T', '__default__');
    kept.numbers.set('n', { count: 2, sum: -0.5, min: -1, max: 0.5 });
    kept.redriven.add(7);
    kept.owed.add(8);
    kept.aggregation = { attempt: 3, failures: 2, instanceId: 'a', dueMs: 11 };
    expect(stored(KEPT, kept)).toEqual(kept);
    expect(stored(KEPT, undefined)).toBeUndefined();
  });

  it('changes with the end of a job as the note says', () => {
    const ends = [
      {
        resultBytes: 0,
        isDropped: true,
        isDetailed: false,
        isLetter: true,
        aggregator: 'T',
        numbers: { n: 1.5 },
      },
      {
        resultBytes: undefined,
        isDropped: false,
        isDetailed: true,
        isLetter: false,
        aggregator: undefined,
        numbers: undefined,
      },
    ];
    for (const end of ends) expect(stored(END_KEPT, end)).toEqual(end);
  });
});

describe('values of side writes', () => {
  it('come back with their texts, and are refused if they are damaged', () => {
    const facts = { jobId: '_1', message: 'Ü "quoted"' };
    for (const texts of [{}, { payload: '{"a":"\\n"}' }, { data: '1' }, { payload: '1', data: '2' }])
      expect(decodeValue(encodeValue({ facts, ...texts }))).toEqual({ facts, ...texts });
    const bytes = encodeValue({ facts });
    bytes[5] = (bytes[5] as number) ^ 1;
    expect(() => decodeValue(bytes)).toThrow(FormatError);
  });
});
