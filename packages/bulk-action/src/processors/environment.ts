import { ERRORS } from '../errors.js';
import type { Environment } from './dependencies.js';

/**
 * A variable that holds a list, separated by commas.
 * @param env - see Environment.
 * @param variable - its name.
 * @returns undefined when it is absent or empty.
 */
export function listFrom(env: Environment, variable: string): readonly string[] | undefined {
  const parts = (env[variable] ?? '').split(',').map((part) => part.trim());
  const given = parts.filter((part) => part !== '');
  return given.length > 0 ? given : undefined;
}

/**
 * Refuses a variable.
 * @param variable - its name.
 * @param expected - what would have been right.
 * @param given - what it holds; `(not shown)` for what may be a secret.
 */
export const environmentInvalid = (variable: string, expected: string, given: string): Error =>
  ERRORS.create('ENVIRONMENT_INVALID', { variable, expected, given });
