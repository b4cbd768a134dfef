import { describe, expect, it } from 'vitest';
import { type TestReport, verdictsOf } from '../src/test-verdicts.js';

const FILE = 'some.serial.test.ts';
const test = (title: string, status: string, failureMessages: string[] = []) => ({
  fullName: `a server ${title}`,
  title,
  status,
  duration: 12.4,
  failureMessages,
});
const report = (tests: TestReport['testResults'][number]['assertionResults'], message = ''): TestReport => ({
  testResults: [{ message, assertionResults: tests }],
});

describe('the verdicts of a test file', () => {
  it('are one for each test that the table names, under its invariant, without the id of a requirement', () => {
    const tests = [
      test('orchestrator NFR-2: frozen: ends in time', 'passed'),
      test('outbox OB-6, OB-7: down: ends in time', 'failed', ['took too long']),
      test('shows no secret', 'passed'),
      test('nobody asked for this one', 'passed'),
    ];
    const about = { 'ends in time': 'I11', 'shows no secret': '' };
    expect(verdictsOf(FILE, report(tests), about)).toEqual([
      { invariant: 'I11 frozen: ends in time', held: true, evidence: `${FILE}, 12 ms` },
      { invariant: 'I11 down: ends in time', held: false, evidence: 'took too long' },
      { invariant: 'shows no secret', held: true, evidence: `${FILE}, 12 ms` },
    ]);
  });

  it('are broken for a name that no test bears, and for a test that was skipped', () => {
    const about = { 'ends in time': 'I11' };
    for (const tests of [[], [test('ends in time', 'skipped')], [test('ends too late', 'passed')]])
      expect(verdictsOf(FILE, report(tests), about)).toMatchObject([
        { invariant: 'I11 ends in time', held: false },
      ]);
  });

  it('have one more for a file that could not be run', () => {
    const verdicts = verdictsOf(FILE, report([test('ends', 'passed')], 'no server'), { ends: 'I11' });
    expect(verdicts.at(-1)).toEqual({ invariant: `${FILE} runs`, held: false, evidence: 'no server' });
  });
});
