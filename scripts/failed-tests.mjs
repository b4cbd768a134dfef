// Plain Node: `npm test` uses it.

const LINES_MAX = 12;
/** The colours of a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence begins with one.
const COLOURS = /\u001b\[\d+m/g;

/**
 * Lists the failed tests and the files that could not run in a report of Vitest's JSON reporter.
 * @param {{ testResults: { name: string, message: string, assertionResults: { fullName: string, status: string, failureMessages?: string[] | null }[] }[] }} report
 * @returns {string[]}
 */
export function failedTests(report) {
  return report.testResults.flatMap(({ name, message, assertionResults }) => [
    ...assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => `${name}: ${fullName}\n${shortened(failureMessages ?? [])}`),
    ...(message === '' ? [] : [`${name}\n${shortened([message])}`]),
  ]);
}

function shortened(messages) {
  const lines = messages.join('\n').replace(COLOURS, '').split('\n');
  const shown = lines.slice(0, LINES_MAX).map((line) => `  ${line.slice(0, 300)}`);
  return [...shown, ...(lines.length > LINES_MAX ? [`  (and ${lines.length - LINES_MAX} lines)`] : [])].join(
    '\n',
  );
}
