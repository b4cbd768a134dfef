import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, FormatError } from '../../../src/next/engine/format/bytes.js';
import { END_KEPT } from '../../../src/next/engine/format/changes.js';
import { type Codec, Sink, Source } from '../../../src/next/engine/format/codec.js';
import { KEPT, packRecord, unpackRecords } from '../../../src/next/engine/format/record.js';
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

describe('records', () => {
  it('give back each fact as it was', () => {
    const state = new EngineState(resolveEngineConfig({}));
    const { costMax } = state.config.limits;
    const limits = { weight: 2, concurrency: 3, pausedMs: 4, quietFromMs: 5, fullUs: 6 };
    const scope = { ...limits, rate: { rps: 7, burst: 8, tatUs: 9, costMax } };
    const times = {
      startedMs: 10,
      endedMs: 11,
      progressMs: 12,
      timeoutMs: 13,
      deadlineMs: 14,
      notBeforeMs: 15,
    };
    const counters = { registered: 16, success: 17, failed: 18, cancelled: 19, late: 20, throttled: 21 };
    const group = {
      ...scope,
      ...times,
      ...counters,
      rateDenied: 22,
      lastBackoffMs: 23,
      round: 24,
      code: 'C',
    };
    const settings = { priorityLevel: 'high', isOrdered: true, isSealable: true, isSealed: true };
    const facts = [
      [state.shard, { ...scope, epoch: 2, letters: 3 }],
      [state.addResource(1, 'r'), { ...scope, starts: 4, throttles: 5 }],
      [state.addTenant(2, 't'), { ...scope, minShare: 0.5, isConfigured: true, served: 6 }],
    ] as const;
    const tenant = facts[2][0];
    const all = [...facts, [state.addGroup(3, 't/g', tenant, 1), { ...group, ...settings }] as const];
    for (const [record, values] of all) Object.assign(record, values);
    const other = new EngineState(state.config);
    const records = all.map(([record]) => packRecord(new ByteWriter(), state, record, 7));
    unpackRecords(other, records);
    for (const [record, values] of all)
      expect(other.byNumber.get(record.number)).toMatchObject({ ...values, recordSeq: 7 });
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
