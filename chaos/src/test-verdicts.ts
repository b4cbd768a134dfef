import type { Verdict } from './registry.js';

/** What the JSON reporter of Vitest writes, as far as it is read here. */
export interface TestReport {
  readonly testResults: readonly {
    /** Why the file could not be run, if so. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly title: string;
      readonly status: string;
      readonly duration?: number | null;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** Part of the names of tests → the invariant they are about, such as `I11`; empty for what is the scenario's own. */
export type About = Readonly<Record<string, string>>;

const EVIDENCE_MAX = 400;

/**
 * Turns each test that ran into a verdict. A name of the table that no test bears is broken: the test was renamed, left out or
 * never reached.
 * @param about - see About; tests that no part names are left out.
 */
export function verdictsOf(file: string, report: TestReport, about: About): Verdict[] {
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const verdicts = Object.entries(about).flatMap(([part, invariant]) => {
    const own = tests.filter(({ fullName, status }) => fullName.includes(part) && hasRun(status));
    if (own.length === 0)
      return [verdict(invariant, part, false, `no test of ${file} with this name has run`)];
    return own.map(({ title, status, duration, failureMessages }) => {
      const held = status === 'passed';
      const why = failureMessages?.join('\n').slice(0, EVIDENCE_MAX) || status;
      return verdict(invariant, title, held, held ? `${file}, ${Math.round(duration ?? 0)} ms` : why);
    });
  });
  const broken = report.testResults.map(({ message }) => message).filter((message) => message !== '');
  return [
    ...verdicts,
    ...broken.map((message) => verdict('', `${file} runs`, false, message.slice(0, EVIDENCE_MAX))),
  ];
}

const hasRun = (status: string): boolean => status === 'passed' || status === 'failed';

/** The id of a requirement that a test shows begins its title, and says nothing here. */
const verdict = (invariant: string, title: string, held: boolean, evidence: string): Verdict => ({
  invariant: `${invariant} ${title.replace(/^[\w-]+ [A-Z]+-\d+(, ([\w-]+ )?[A-Z]+-\d+)*: /, '')}`.trim(),
  held,
  evidence,
});
