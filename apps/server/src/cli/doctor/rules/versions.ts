import { type Finding, finding } from '../finding.js';

const numbers = (version: string): readonly number[] =>
  version
    .replace(/^\D*/, '')
    .split('.')
    .map((part) => Number.parseInt(part, 10) || 0);

/**
 * Whether a version comes before another: `6.0.9` before `6.2`.
 * @param version - numbers with dots between; what stands around them does not count.
 * @param oldest - the same.
 */
export function isOlder(version: string, oldest: string): boolean {
  const [mine, theirs] = [numbers(version), numbers(oldest)];
  const at = theirs.findIndex((number, index) => number !== (mine[index] ?? 0));
  return at >= 0 && (mine[at] ?? 0) < (theirs[at] as number);
}

/**
 * Whether this Node can run Millrace.
 * @param wanted - as package.json says it: `>=20.19`.
 */
export const judgeNode = (version: string, wanted: string): Finding =>
  isOlder(version, wanted)
    ? finding('failure', 'node', `Node ${version} is too old`, {
        seen: `Millrace needs ${wanted}.`,
        action: `Install a newer Node: https://nodejs.org (needed: ${wanted}).`,
      })
    : finding('ok', 'node', `Node ${version}`);
