import { SubmitRequest } from '@millrace/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkCommand } from '../../src/check-command.js';
import type { CommandInput } from '../../src/index.js';

const isTakenByCore = (command: unknown): boolean => {
  try {
    checkCommand(command as CommandInput, () => 'made up', 1_048_576);
    return true;
  } catch {
    return false;
  }
};

const isTakenBySchema = (command: unknown): boolean => SubmitRequest.safeParse(command).success;

/** Texts around every limit: empty, blank, at and over the longest, with what cannot be stored. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\t\n',
    '\u00a0',
    '\ufeff',
    'A',
    'A_1',
    'a',
    'a\0',
    '\ud800',
    '\udc00x',
    '😀',
    'Ä',
  ),
  fc.constantFrom(50, 51, 100, 101, 255, 256).map((length) => 'X'.repeat(length)),
  fc.constantFrom(99, 100, 254, 255).map((length) => `${'x'.repeat(length)}😀`),
  fc.string({ unit: 'binary', maxLength: 60 }),
);
const value = fc.oneof({ weight: 8, arbitrary: text }, fc.constantFrom(null, 1, true, {}, []));
const command = fc.record(
  {
    domain: fc.oneof(fc.constant('ORDER'), value),
    eventType: fc.oneof(fc.constant('PLACE'), value),
    bizKey: fc.oneof(fc.constant('k'), value),
    idemKey: fc.oneof(fc.constant('i'), value),
    payload: fc.jsonValue(),
    more: fc.constant(1),
  },
  { requiredKeys: ['domain', 'eventType', 'bizKey'] },
);
const mostly = command.map(({ more, ...rest }) =>
  Math.abs(JSON.stringify(rest).length) % 5 === 0 ? { ...rest, more } : rest,
);

it('orchestrator FR-1: the contract accepts exactly the commands that the orchestrator accepts', () => {
  const counts = { taken: 0, refused: 0 };
  fc.assert(
    fc.property(mostly, (given) => {
      const command = JSON.parse(JSON.stringify(given)) as { idemKey?: unknown };
      // Over HTTP a key is a text or left out; inside the process null is as good as nothing.
      if (command.idemKey === null) delete command.idemKey;
      const isTaken = isTakenByCore(command);
      expect(isTakenBySchema(command), JSON.stringify(command)).toBe(isTaken);
      counts[isTaken ? 'taken' : 'refused']++;
    }),
    { numRuns: 2_000 },
  );
  expect(counts.taken).toBeGreaterThan(50);
  expect(counts.refused).toBeGreaterThan(50);
});
