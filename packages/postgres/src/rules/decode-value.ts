import { parseArray } from './array-text.js';

/** Turns the text of a value into what a row holds. */
export type ValueDecoder = (text: string) => unknown;

const asText: ValueDecoder = (text) => text;
const asNumber: ValueDecoder = Number;
const asBytes: ValueDecoder = (text) => Buffer.from(text.slice(2), 'hex');

/** The element types that become something else than text; everything not listed stays as PostgreSQL writes it. */
const SCALARS: ReadonlyMap<number, ValueDecoder> = new Map<number, ValueDecoder>([
  [16, (text) => text === 't'], // bool
  [17, asBytes], // bytea
  [21, asNumber], // int2
  [23, asNumber], // int4
  [26, asNumber], // oid
  [114, JSON.parse as ValueDecoder], // json
  [700, asNumber], // float4
  [701, asNumber], // float8
  [1184, parseTimestamp], // timestamptz
  [3802, JSON.parse as ValueDecoder], // jsonb
]);

/** The types of arrays, with the type of their elements. */
const ARRAYS: ReadonlyMap<number, number> = new Map([
  [199, 114], // json[]
  [1000, 16], // bool[]
  [1001, 17], // bytea[]
  [1005, 21], // int2[]
  [1007, 23], // int4[]
  [1009, 25], // text[]
  [1015, 1043], // varchar[]
  [1016, 20], // int8[]
  [1021, 700], // float4[]
  [1022, 701], // float8[]
  [1028, 26], // oid[]
  [1115, 1114], // timestamp[]
  [1182, 1082], // date[]
  [1185, 1184], // timestamptz[]
  [1231, 1700], // numeric[]
  [2951, 2950], // uuid[]
  [3807, 3802], // jsonb[]
]);

const DECODERS: ReadonlyMap<number, ValueDecoder> = new Map([
  ...SCALARS,
  ...[...ARRAYS].map(([array, element]): [number, ValueDecoder] => {
    const decode = SCALARS.get(element) ?? asText;
    return [array, (text) => parseArray(text, decode)];
  }),
]);

/**
 * What the texts of one type stand for: the same in both drivers, whatever their own habits are. bigint and numeric stay
 * text, since a number would round them and JSON carries no bigint; so do date, timestamp and interval, which have no
 * zone and are no moment in time.
 * @param type - the type's oid.
 */
export function decoderOf(type: number): ValueDecoder {
  return DECODERS.get(type) ?? asText;
}

const TIMESTAMP =
  /^(\d{4,})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?( BC)?$/;

/** A Date, to the millisecond; ±Infinity for `infinity`. */
function parseTimestamp(text: string): unknown {
  const parts = TIMESTAMP.exec(text);
  if (!parts) return text === 'infinity' ? Infinity : text === '-infinity' ? -Infinity : text;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offsetSeconds = Number(parts[9]) * 3600 + Number(parts[10] ?? 0) * 60 + Number(parts[11] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(parts[12] ? 1 - year : year, month - 1, day);
  date.setUTCHours(hour, minute, second, Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3)));
  return new Date(date.getTime() - (parts[8] === '-' ? -1 : 1) * offsetSeconds * 1000);
}
