import { describe, expect, it } from 'vitest';
import { failedTests } from '../failed-tests.mjs';

const test = (fullName: string, status: string, failureMessages: string[] = []) => ({
  fullName,
  status,
  failureMessages,
});

describe('failedTests', () => {
  it('names each test that failed and each file that could not be run, and nothing else', () => {
    const report = {
      testResults: [
        {
          name: 'a.ts',
          message: '',
          assertionResults: [test('holds', 'passed'), test('breaks', 'failed', ['1 is not 2'])],
        },
        { name: 'b.ts', message: 'no such module', assertionResults: [] },
      ],
    };
    expect(failedTests(report)).toEqual(['a.ts: breaks\n  1 is not 2', 'b.ts\n  no such module']);
  });

  it('cuts what is long, says how much, and leaves colours out', () => {
    const message = ['\u001b[31mred\u001b[39m', ...Array.from({ length: 19 }, (_, line) => `${line}`)].join(
      '\n',
    );
    const [text = ''] = failedTests({
      testResults: [{ name: 'a.ts', message: '', assertionResults: [test('breaks', 'failed', [message])] }],
    });
    expect(text).toMatch(/^a\.ts: breaks\n {2}red\n {2}0\n/);
    expect(text).toMatch(/\n {2}\(and 8 lines\)$/);
  });
});
