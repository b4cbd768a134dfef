import { randomBytes } from 'node:crypto';
import { type Rng, seededRng } from '../rng.js';

/** Randomness that starts from the operating system's own: every process draws another sequence. */
export const systemRng = (): Rng => seededRng(randomBytes(16).toString('hex'));
