import type {
  AggregationMoved,
  GroupReopened,
  JobsRedriven,
  LettersGone,
  LettersReturned,
} from '../state/change.js';
import { type Aggregation, type EndKept, Kept } from '../state/kept.js';
import { Group } from '../state/records.js';
import type { ByteReader, ByteWriter } from './bytes.js';
import type { ChangeCodec } from './note-stream.js';

const IS_DROPPED = 1;
const IS_DETAILED = 2;
const IS_LETTER = 4;

/** Writes what a job leaves behind. */
export function writeEndKept(out: ByteWriter, kept: EndKept): void {
  const { resultBytes, isDropped, isDetailed, isLetter, aggregator, numbers = {} } = kept;
  out.byte((isDropped ? IS_DROPPED : 0) + (isDetailed ? IS_DETAILED : 0) + (isLetter ? IS_LETTER : 0));
  out.optional(resultBytes);
  out.text(aggregator ?? '');
  const values = Object.entries(numbers);
  out.count(values.length);
  for (const [name, value] of values) {
    out.text(name);
    out.number(value);
  }
}

/** Reads what a job leaves behind. */
export function readEndKept(from: ByteReader): EndKept {
  const flags = from.byte();
  const resultBytes = from.optional();
  const aggregator = from.text() || undefined;
  const values = Array.from({ length: from.count() }, () => [from.text(), from.number()] as const);
  return {
    resultBytes,
    isDropped: (flags & IS_DROPPED) > 0,
    isDetailed: (flags & IS_DETAILED) > 0,
    isLetter: (flags & IS_LETTER) > 0,
    aggregator,
    numbers: values.length > 0 ? Object.fromEntries(values) : undefined,
  };
}

const REDRIVEN_COUNTS = ['failed', 'cancelled', 'added', 'details'] as const;

const redriven: ChangeCodec<JobsRedriven> = {
  write(out, change) {
    const { bytes } = out;
    out.group(change.group);
    bytes.count(change.address);
    for (const name of REDRIVEN_COUNTS) bytes.count(change[name]);
    bytes.count(change.codes.length);
    for (const [code, count] of change.codes) {
      bytes.text(code);
      bytes.count(count);
    }
    out.time(change.atUs);
  },
  read: (from) => ({
    group: from.group(),
    address: from.bytes.count(),
    failed: from.bytes.count(),
    cancelled: from.bytes.count(),
    added: from.bytes.count(),
    details: from.bytes.count(),
    codes: Array.from({ length: from.bytes.count() }, () => [from.bytes.text(), from.bytes.count()] as const),
    atUs: from.time(),
  }),
};

const reopened: ChangeCodec<GroupReopened> = {
  write(out, { group, atUs }) {
    out.group(group);
    out.time(atUs);
  },
  read: (from) => ({ group: from.group(), atUs: from.time() }),
};

const returned: ChangeCodec<LettersReturned> = {
  write(out, { group, address, letters }) {
    out.group(group);
    out.bytes.count(address);
    out.bytes.count(letters);
  },
  read: (from) => ({ group: from.group(), address: from.bytes.count(), letters: from.bytes.count() }),
};

/** Number 0 is the shard: no group. */
const gone: ChangeCodec<LettersGone> = {
  write(out, { group, letters }) {
    out.bytes.count(group?.number ?? 0);
    out.bytes.count(letters);
  },
  read(from) {
    const number = from.bytes.count();
    return {
      group: number === 0 ? undefined : from.record(number, Group),
      letters: from.bytes.count(),
    };
  },
};

const aggregation: ChangeCodec<AggregationMoved> = {
  write(out, change) {
    out.group(change.group);
    writeAggregation(out.bytes, change);
  },
  read: (from) => ({ group: from.group(), ...readAggregation(from.bytes) }),
};

/** Changes of what jobs leave behind. */
export const KEPT_CHANGES = {
  redriven,
  reopened,
  'letters-returned': returned,
  'letters-gone': gone,
  aggregation,
};

function writeAggregation(out: ByteWriter, { attempt, failures, instanceId, dueMs }: Aggregation): void {
  out.count(attempt);
  out.count(failures);
  out.text(instanceId);
  out.count(dueMs);
}

const readAggregation = (from: ByteReader): Aggregation => ({
  attempt: from.count(),
  failures: from.count(),
  instanceId: from.text(),
  dueMs: from.count(),
});

const COUNTERS = ['results', 'resultsFrom', 'resultBytes', 'resultsDropped', 'details', 'letters'] as const;

/** Writes the part of a group's record about what its jobs left behind. */
export function packKept(out: ByteWriter, kept: Kept | undefined): void {
  out.byte(kept ? 1 : 0);
  if (!kept) return;
  for (const name of COUNTERS) out.count(kept[name]);
  out.count(kept.aggregators.length);
  for (const type of kept.aggregators) out.text(type);
  out.count(kept.numbers.size);
  for (const [name, { count, sum, min, max }] of kept.numbers) {
    out.text(name);
    for (const value of [count, sum, min, max]) out.number(value);
  }
  for (const addresses of [kept.redriven, kept.owed]) {
    out.count(addresses.size);
    for (const address of addresses) out.count(address);
  }
  out.byte(kept.aggregation ? 1 : 0);
  if (kept.aggregation) writeAggregation(out, kept.aggregation);
}

/** Reads the part of a group's record about what its jobs left behind. */
export function unpackKept(from: ByteReader): Kept | undefined {
  if (from.byte() === 0) return undefined;
  const kept = new Kept();
  for (const name of COUNTERS) kept[name] = from.count();
  for (let left = from.count(); left > 0; left--) kept.aggregators.push(from.text());
  for (let left = from.count(); left > 0; left--)
    kept.numbers.set(from.text(), {
      count: from.number(),
      sum: from.number(),
      min: from.number(),
      max: from.number(),
    });
  for (const addresses of [kept.redriven, kept.owed])
    for (let left = from.count(); left > 0; left--) addresses.add(from.count());
  if (from.byte() === 1) kept.aggregation = readAggregation(from);
  return kept;
}
