import { randomBytes } from 'node:crypto';

/** The source of randomness for core code. With a seed, every run draws the same sequence. Not for secrets. */
export interface Rng {
  /** A number from 0 (included) to 1 (excluded). */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  /** True with the given probability. */
  chance(probability: number): boolean;
  /** One of the items, of which there must be at least one. */
  pick<T>(items: readonly T[]): T;
  /** A copy of the items in random order. */
  shuffle<T>(items: readonly T[]): T[];
  /** A number of the exponential distribution, for arrival and service times. */
  exponential(mean: number): number;
  /** An independent sequence, so that the draws of one part never shift those of another. */
  fork(label: string): Rng;
}

/** Makes a random source that draws the same sequence for the same seed, in every version. */
export function seededRng(seed: number | string): Rng {
  const next = sequence(`${seed}`);
  const rng: Rng = {
    next,
    integer: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (probability) => next() < probability,
    pick(items) {
      if (items.length === 0) throw new RangeError('pick needs at least one item, got none');
      return items[Math.floor(next() * items.length)] as (typeof items)[number];
    },
    shuffle(items) {
      const mixed = [...items];
      for (let last = mixed.length - 1; last > 0; last--) {
        const other = rng.integer(0, last);
        [mixed[last], mixed[other]] = [
          mixed[other] as (typeof mixed)[number],
          mixed[last] as (typeof mixed)[number],
        ];
      }
      return mixed;
    },
    // 1 - next() is never 0, so the logarithm is finite.
    exponential: (mean) => -mean * Math.log(1 - next()),
    fork: (label) => seededRng(`${seed}/${label}`),
  };
  return rng;
}

/** Makes a random source with a seed from the operating system. */
export const systemRng = (): Rng => seededRng(randomBytes(16).toString('hex'));

/**
 * The sfc32 generator (Chris Doty-Humphrey, PractRand; public domain): small, fast, and it passes the usual test
 * batteries. Two 32-bit steps yield the 53 random bits of one number.
 */
function sequence(seed: string): () => number {
  let [a, b, c] = [hash(seed, 0x9e3779b9), hash(seed, 0x85ebca6b), hash(seed, 0xc2b2ae35)];
  let counter = 1;
  const step = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  // The first outputs still resemble the seed.
  for (let turn = 0; turn < 15; turn++) step();
  return () => (step() * 2 ** 21 + (step() >>> 11)) / 2 ** 53;
}

/** FNV-1a over the UTF-16 units with a final mix, so that seeds 1 and 2 start far apart. */
function hash(text: string, salt: number): number {
  let value = 0x811c9dc5 ^ salt;
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  value = Math.imul(value ^ (value >>> 16), 0x45d9f3b);
  return value ^ (value >>> 16);
}
