import { describe, expect, it } from 'vitest';
import { columnsOf, INVARIANTS, matrixOf, RAN_TO_ITS_END, summaryOf } from '../src/matrix.js';
import type { Outcome } from '../src/registry.js';

const outcome = (scenario: string, verdicts: Readonly<Record<string, boolean>>, seed = 1): Outcome => ({
  scenario,
  seed,
  scale: 1,
  durationMs: 1500,
  verdicts: Object.entries(verdicts).map(([invariant, held]) => ({ invariant, held, evidence: '' })),
});

describe('the column of a verdict', () => {
  it.each([
    ['I1 no loss', ['I1']],
    ['I15 nobody else is slowed', ['I15']],
    ['I2, I14 counted exactly once', ['I2', 'I14']],
    ['neighbours unaffected', ['own']],
    ['I16 there is none', ['own']],
    ['I0 nor this', ['own']],
    ['I3executions', ['own']],
    ['only I4 in the middle', ['own']],
    ['I1, exactly', ['own']],
    ['I7', ['own']],
    [RAN_TO_ITS_END, ['own']],
  ])('of "%s" is %j', (name, columns) => {
    expect(columnsOf(name)).toEqual(columns);
  });
});

describe('the matrix', () => {
  it('has a row for each scenario in the order they were played, and a cell only for what was judged', () => {
    const { rows, held, broken } = matrixOf([
      outcome('b', { 'I1 no loss': true, 'I8 nothing left': false }),
      outcome('a', { 'I10 throughput is back': true, 'every fault happened': true }),
    ]);
    expect(rows).toEqual([
      { scenario: 'b', mode: 'safety', seconds: 1.5, cells: { I1: 'held', I8: 'broken' } },
      { scenario: 'a', mode: 'liveness', seconds: 1.5, cells: { I10: 'held', own: 'held' } },
    ]);
    expect({ held, broken }).toEqual({ held: 3, broken: 1 });
  });

  it('shows as broken what one of two checks or one of two rounds found broken, whichever came first', () => {
    const twoChecks = outcome('a', { 'I8 nothing left': false, 'I8 only declared keys': true });
    expect(matrixOf([twoChecks]).rows[0]?.cells).toEqual({ I8: 'broken' });
    const rounds = [true, false, true].map((held, seed) => outcome('a', { 'I1 no loss': held }, seed));
    expect(matrixOf(rounds).rows).toEqual([
      { scenario: 'a', mode: 'safety', seconds: 4.5, cells: { I1: 'broken' } },
    ]);
  });

  it('knows no mode of a scenario that broke off', () => {
    const [row] = matrixOf([outcome('a', { [RAN_TO_ITS_END]: false })]).rows;
    expect(row).toMatchObject({ mode: undefined, cells: { own: 'broken' } });
  });

  it('says in one line how many held and which invariants nobody judged', () => {
    const some = matrixOf([outcome('a', { 'I1 no loss': true, 'I2 once': false, own: true })]);
    expect(some.unjudged).toEqual(INVARIANTS.slice(2));
    expect(summaryOf(some)).toMatch(
      /^1 scenarios: 2 verdicts held, 1 broken; judged by no scenario of this run: I3, I4, .*, I15$/,
    );
    const all = matrixOf([
      outcome('a', Object.fromEntries(INVARIANTS.map((name) => [`${name} held`, true]))),
    ]);
    expect(summaryOf(all)).toBe('1 scenarios: 15 verdicts held, 0 broken; each of I1–I15 was judged');
  });
});
