/**
 * What all Millrace parts stand on: a clock and randomness that can be held, option resolving, the error
 * registry, the service lifecycle, and the vocabulary every part speaks. Imports nothing.
 *
 * @packageDocumentation
 */
export { type CancelTimer, type Clock, sleep } from './clock.js';
