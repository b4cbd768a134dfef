import type { EngineState } from '../state/state.js';
import { type ByteReader, type ByteWriter, FormatError } from './bytes.js';

/** Bytes to write to, and what values in them refer to. */
export class Sink {
  /** Instances in the order in which they are first named. */
  readonly instances: string[] = [];

  constructor(
    readonly bytes: ByteWriter,
    readonly head: { readonly atUs: number; readonly epoch: number },
  ) {}
}

/** Bytes to read what a Sink wrote. */
export class Source {
  readonly instances: string[] = [];

  constructor(
    readonly bytes: ByteReader,
    readonly state: EngineState,
    readonly atUs: number,
  ) {}

  /** @throws FormatError if no record of this type has the number. */
  record<T>(number: number, type: abstract new (...args: never) => T): T {
    const record = this.state.byNumber.get(number);
    if (record instanceof type) return record;
    throw new FormatError(`Record ${number} is named, which does not exist`);
  }
}

/** How a value is written and read. */
export interface Codec<T> {
  write(out: Sink, value: T): void;
  read(from: Source): T;
}

/** The same for an object that keeps its identity: what was written is put into it. */
export interface Part<T> {
  write(out: Sink, value: T): void;
  fill(from: Source, value: T): void;
}

/* Each has functions of its own: with functions made by a common one, the record of a group took 13 % longer. */
export const COUNT: Codec<number> = {
  write: (out, value) => out.bytes.count(value),
  read: (from) => from.bytes.count(),
};
export const INTEGER: Codec<number> = {
  write: (out, value) => out.bytes.integer(value),
  read: (from) => from.bytes.integer(),
};
export const FLOAT: Codec<number> = {
  write: (out, value) => out.bytes.float(value),
  read: (from) => from.bytes.float(),
};
export const NUMBER: Codec<number> = {
  write: (out, value) => out.bytes.number(value),
  read: (from) => from.bytes.number(),
};
export const TAG: Codec<number> = {
  write: (out, value) => out.bytes.tag(value),
  read: (from) => from.bytes.tag(),
};
export const TEXT: Codec<string> = {
  write: (out, value) => out.bytes.text(value),
  read: (from) => from.bytes.text(),
};
/** A text that is never empty, or none. */
export const NAME: Codec<string | undefined> = {
  write: (out, value) => out.bytes.text(value ?? ''),
  read: (from) => from.bytes.text() || undefined,
};
/** A time in µs. Most changes happen at the time of the commit or shortly before. */
export const TIME: Codec<number> = {
  write: (out, value) => out.bytes.integer(out.head.atUs - value),
  read: (from) => from.atUs - from.bytes.integer(),
};
/** One of a few values, by its place among them. */
export const oneOf = <T>(values: readonly T[]): Codec<T> => ({
  write: (out, value) => out.bytes.byte(values.indexOf(value)),
  read: ({ bytes }) => pick(values, bytes.byte()),
});
export const BOOLEAN: Codec<boolean> = {
  write: (out, value) => out.bytes.byte(value ? 1 : 0),
  read: (from) => from.bytes.byte() === 1,
};

/** A value that may be missing. */
export const maybe = <T>({ write, read }: Codec<T>): Codec<T | undefined> => ({
  write(out, value) {
    out.bytes.byte(value === undefined ? 0 : 1);
    if (value !== undefined) write(out, value);
  },
  read: (from) => (from.bytes.byte() === 0 ? undefined : read(from)),
});

export const OPTIONAL: Codec<number | undefined> = {
  write(out, value) {
    out.bytes.byte(value === undefined ? 0 : 1);
    if (value !== undefined) out.bytes.number(value);
  },
  read: ({ bytes }) => (bytes.byte() === 0 ? undefined : bytes.number()),
};

/** Nothing is written: the value is made anew. */
export const made = <T>(make: (from: Source) => T): Codec<T> => ({ write() {}, read: make });

/** Fields of an object, one after the other. */
export function layout<T>(fields: { readonly [K in keyof T]-?: Codec<T[K]> }): Codec<T> {
  const entries = Object.entries(fields) as [keyof T, Codec<unknown>][];
  return {
    write(out, value) {
      for (const [name, field] of entries) field.write(out, value[name]);
    },
    read(from) {
      const value: Partial<Record<keyof T, unknown>> = {};
      for (const [name, field] of entries) value[name] = field.read(from);
      return value as T;
    },
  };
}

/** An object that is made from the few fields that are written. */
export const madeOf = <T extends F, F>(fields: Codec<F>, make: (fields: F, from: Source) => T): Codec<T> => ({
  write: fields.write,
  read: (from) => make(fields.read(from), from),
});

/** Those fields of an object that are stored. */
export function part<T>(fields: { readonly [K in keyof T]?: Codec<T[K]> | Part<T[K]> }): Part<T> {
  const entries = Object.entries(fields) as [keyof T, Codec<T[keyof T]> | Part<T[keyof T]>][];
  return {
    write(out, value) {
      for (const [name, field] of entries) field.write(out, value[name]);
    },
    fill(from, value) {
      for (const [name, field] of entries)
        if ('fill' in field) field.fill(from, value[name]);
        else value[name] = field.read(from);
    },
  };
}

/** An object that is made from its head and then filled. */
export const filled = <T>(head: Codec<T>, ...parts: readonly Part<T>[]): Codec<T> => ({
  write(out, value) {
    head.write(out, value);
    for (const { write } of parts) write(out, value);
  },
  read(from) {
    const value = head.read(from);
    for (const { fill } of parts) fill(from, value);
    return value;
  },
});

/** What sets and maps of any make have alike. */
type Sized<E> = Iterable<E> & { readonly size: number };
type SetLike<T> = Sized<T> & { add(item: T): unknown };
type MapLike<K, V> = Sized<[K, V]> & { set(key: K, value: V): unknown };

/** A codec of a new collection, and of one that stays. */
function collection<New extends Old, Old extends Sized<E> | E[], E>(
  item: Codec<E>,
  make: () => New,
  add: (to: Old, value: E) => void,
): Codec<New> & Part<Old> {
  const fill = (from: Source, to: Old): void => {
    for (let left = from.bytes.count(); left > 0; left--) add(to, item.read(from));
  };
  return {
    write(out: Sink, values: Old) {
      const size = 'size' in values ? values.size : values.length;
      out.bytes.count(size);
      if (size > 0) for (const value of values) item.write(out, value);
    },
    fill,
    read(from) {
      const values = make();
      fill(from, values);
      return values;
    },
  };
}

const newList = <T>(): T[] => [];
export const listOf = <T>(item: Codec<T>): Codec<T[]> & Part<T[]> =>
  collection<T[], T[], T>(item, newList, (list, value) => list.push(value));

const newSet = <T>(): Set<T> => new Set();
export const setOf = <T>(item: Codec<T>): Part<SetLike<T>> =>
  collection<Set<T>, SetLike<T>, T>(item, newSet, (set, value) => set.add(value));

export const pairOf = <K, V>(key: Codec<K>, value: Codec<V>): Codec<[K, V]> => ({
  write(out, pair) {
    key.write(out, pair[0]);
    value.write(out, pair[1]);
  },
  read: (from) => [key.read(from), value.read(from)],
});
const newMap = <K, V>(): Map<K, V> => new Map();
export const mapOf = <K, V>(key: Codec<K>, value: Codec<V>): Codec<Map<K, V>> & Part<MapLike<K, V>> =>
  collection<Map<K, V>, MapLike<K, V>, [K, V]>(pairOf(key, value), newMap, (map, pair) => map.set(...pair));

/** Returns the value that a stored index stands for. */
export function pick<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new FormatError(`A stored code ${index} is unknown`);
  return value;
}
