import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, checkCommand } from '../src/check-command.js';

const GOOD = { domain: 'ORDER', eventType: 'PLACE_2', bizKey: 'b', idemKey: 'k', payload: { a: [1] } };
const check = (change: object, max = 1_048_576) =>
  checkCommand({ ...GOOD, ...change } as never, () => 'made', max);

describe('checkCommand', () => {
  it('orchestrator FR-1: accepts commands up to every limit of the contract', () => {
    expect(check({}).command).toEqual(GOOD);
    expect(check({ idemKey: undefined }).command.idemKey).toBe('made');
    expect(check({ payload: undefined }).command.payload).toBeNull();
    for (const change of [
      { domain: 'A'.repeat(50) },
      { eventType: 'Z9_' },
      { bizKey: 'x'.repeat(100) },
      { idemKey: 'ä'.repeat(255) },
      { payload: 'x'.repeat(1_048_574) },
      { bizKey: '😀' },
    ])
      expect(() => check(change)).not.toThrow();
  });

  it.each([
    ['domain', ''],
    ['domain', 'A'.repeat(51)],
    ['domain', 'a'],
    ['domain', 'A-B'],
    ['eventType', undefined],
    ['bizKey', ''],
    ['bizKey', 'x'.repeat(101)],
    ['bizKey', 'a\0b'],
    ['bizKey', '\uD800'],
    ['bizKey', 5],
    ['idemKey', '\t '],
    ['idemKey', 'x'.repeat(256)],
    ['idemKey', 'a\uDC00'],
    ['payload', 'x'.repeat(1_048_575)],
    ['payload', () => 1],
    ['payload', Number.NaN],
    ['payload', 10n],
  ])('orchestrator FR-1: rejects %s = %s', (field, value) => {
    try {
      check({ [field]: value });
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: 'COMMAND_INVALID', status: 400, details: { errors: [{ field }] } });
    }
  });

  it('orchestrator FR-1: rejects a payload that is circular or too deep, and a command that is no object', () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    let deep: unknown = 1;
    for (let level = 0; level < 10_000; level++) deep = [deep];
    for (const payload of [circular, deep])
      expect(() => check({ payload })).toThrow(/payload must be a JSON value/);
    for (const input of [null, undefined, 'x', 5])
      expect(() => checkCommand(input as never, () => 'k', 10)).toThrow(/command must be an object/);
  });

  it('orchestrator FR-1: hashes a body independently of the order of its keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const hash = (payload: unknown) => check({ payload }).bodyHash;
        expect(hash(shuffled(one))).toBe(hash(one));
        const same =
          canonicalJson(JSON.parse(JSON.stringify(one))) === canonicalJson(JSON.parse(JSON.stringify(other)));
        expect(hash(one) === hash(other)).toBe(same);
      }),
      { numRuns: 300 },
    );
  });

  it('orchestrator FR-1: canonical text is JSON of the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
      { numRuns: 300 },
    );
  });
});

/** The same value with the keys of every object the other way round. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, shuffled(inner)]),
  );
}
