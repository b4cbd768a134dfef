import { numbers } from '../store-contract/tools.js';
import { PLAIN_FROM } from './world.js';

/**
 * Sequences that together meet everything that the first 520 meet (see telling-seeds.ts, which takes 8 s to find them). When the commands
 * change and they no longer do, the test says so: `MILLRACE_DIFF_CHOOSE=1 npx vitest run packages/bulk-action/test/differential` prints others.
 */
export const CHOSEN_SEEDS: readonly number[] = [
  2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 19, 21, 24, 26, 31, 32, 34, 36, 40, 43, 44, 45, 48, 55, 56, 57, 58, 66, 69,
  70, 73, 80, 87, 90, 91, 92, 96, 100, 104, 105, 112, 113, 114, 125, 128, 129, 130, 134, 136, 138, 142, 144,
  147, 159, 162, 163, 165, 171, 175, 177, 179, 180, 185, 187, 188, 189, 190, 192, 194, 196, 197, 200, 203,
  211, 215, 217, 218, 226, 240, 248, 251, 257, 258, 259, 267, 269, 270, 277, 285, 287, 290, 294, 295, 326,
  329, 333, 339, 341, 347, 349, 354, 356, 366, 371, 372, 378, 389, 394, 398, 402, 404, 405, 407, 411, 415,
  419, 424, 429, 434, 437, 444, 445, 446, 447, 448, 450, 453, 456, 459, 481, 500, 509, 510, 515, 517,
];

/** Of the plain ones, those that notice together what all of them do; first, so that a difference is found soon. */
const TELLING = [15, 17, 31, 22, 26, 46, 50];

/** Sequences of plain worlds: so many that each of the mutants in test/redis/usual-mutants.slow.test.ts is noticed. */
export const PLAIN_SEEDS: readonly number[] = [
  ...TELLING,
  ...numbers(60).filter((n) => !TELLING.includes(n)),
].map((n) => PLAIN_FROM + n);
