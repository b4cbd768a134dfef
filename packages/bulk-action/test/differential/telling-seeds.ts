import { openMemory } from '../memory/open-memory.js';
import { labelsOfSeed } from './compare.js';
import { WANTED } from './wanted.js';

/** Each thing that sequences can meet is met by so many of the chosen ones, or by all that meet it at all. */
const TIMES_EACH = 8;
/** What is so rare that the seeds to choose from never meet it is looked for in so many times as many. */
const FURTHER = 6;

/**
 * Chooses sequences that together meet everything that all of them meet. On a real server a sequence takes twenty times
 * as long as in memory, and most of them meet what others have met; the memory store tells beforehand which do not.
 * @param count - how many seeds to choose from.
 * @returns the chosen seeds, those that tell most first.
 */
export async function tellingSeeds(first: number, count: number): Promise<readonly number[]> {
  const labels = await labelsOfSeeds(first, count);
  const missing = new Map(WANTED.map((label) => [label, TIMES_EACH]));
  const isMissing = (label: string) => (missing.get(label) ?? 0) > 0;
  const chosen: number[] = [];
  for (;;) {
    const [seed, news] = mostTelling(labels, isMissing);
    if (news === 0) return chosen;
    chosen.push(seed);
    for (const label of labels.get(seed) ?? []) missing.set(label, (missing.get(label) ?? 0) - 1);
    labels.delete(seed);
  }
}

async function labelsOfSeeds(first: number, count: number): Promise<Map<number, readonly string[]>> {
  const labels = new Map<number, readonly string[]>();
  const neverMet = new Set(WANTED);
  const isEnough = (seed: number) => seed >= first + (neverMet.size > 0 ? count * FURTHER : count);
  for (let seed = first; !isEnough(seed); seed++) {
    const met = await labelsOfSeed(async (config) => openMemory(config), seed);
    const wanted = WANTED.filter((label) => met.has(label));
    labels.set(seed, wanted);
    for (const label of wanted) neverMet.delete(label);
  }
  return labels;
}

/** The seed that meets most of what is missing, and how much of it. */
function mostTelling(
  labels: ReadonlyMap<number, readonly string[]>,
  isMissing: (label: string) => boolean,
): readonly [seed: number, news: number] {
  let best: readonly [number, number] = [0, 0];
  for (const [seed, met] of labels) {
    const news = met.filter(isMissing).length;
    if (news > best[1]) best = [seed, news];
  }
  return best;
}
