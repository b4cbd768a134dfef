/** How many error codes a group counts by name: codes come from handlers, and one that puts ids into them would make results without end. */
const FAILURE_CODES_MAX = 100;

/** Under which all further ones are counted together. */
const OTHER_CODES = 'OTHER_CODES';

/** Failed jobs of a group by error code. */
export type FailureCodes = Map<string, number>;

/**
 * Counts a failure. The sum of all is the number of failed jobs, whatever their codes are.
 * @param codes - of its group.
 * @param code - its own.
 */
export function countFailure(codes: FailureCodes, code: string): void {
  const name = codes.has(code) || codes.size < FAILURE_CODES_MAX ? code : OTHER_CODES;
  codes.set(name, (codes.get(name) ?? 0) + 1);
}

/**
 * Takes one back that was counted.
 * @param codes - of its group.
 * @param code - its own.
 */
export function forgetFailure(codes: FailureCodes, code: string): void {
  const name = codes.has(code) ? code : OTHER_CODES;
  const left = (codes.get(name) ?? 1) - 1;
  if (left > 0) codes.set(name, left);
  else codes.delete(name);
}
