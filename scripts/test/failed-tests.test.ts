import { expect, it } from 'vitest';
import { failedTests } from '../failed-tests.mjs';

it('lists each failed test and each file that could not run, without colours and shortened', () => {
  const long = Array.from({ length: 20 }, (_, line) => `\u001b[31m${line}\u001b[39m`).join('\n');
  const assertionResults = [
    { fullName: 'holds', status: 'passed', failureMessages: [] },
    { fullName: 'breaks', status: 'failed', failureMessages: [long] },
  ];
  const [test, file, ...others] = failedTests({
    testResults: [
      { name: 'a.ts', message: '', assertionResults },
      { name: 'b.ts', message: 'no such module', assertionResults: [] },
    ],
  });
  expect(test).toMatch(/^a\.ts: breaks\n {2}0\n {2}1\n[\s\d]* {2}11\n {2}\(and 8 lines\)$/);
  expect([file, ...others]).toEqual(['b.ts\n  no such module']);
});
