/**
 * The delay before the next attempt: by name, or a function of the number of the failed attempt (from 1) and its error.
 * The same type as in async-utils.
 */
export type BackoffStrategy = 'exponential' | 'linear' | ((attempt: number, error: unknown) => number);
