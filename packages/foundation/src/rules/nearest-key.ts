/**
 * The known key that a mistyped one most likely meant.
 * @param given - the key that is not known.
 * @returns the nearest key, or undefined when none is near enough to be worth naming.
 */
export function nearestKey(given: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // A third of the letters may be wrong: enough for a slip or a forgotten unit, too little for another word.
  let bestDistance = Math.max(2, Math.floor(given.length / 3)) + 1;
  for (const key of known) {
    const contained = key.toLowerCase().startsWith(given.toLowerCase());
    const distance = contained ? 1 : editDistance(given.toLowerCase(), key.toLowerCase());
    if (distance < bestDistance) {
      best = key;
      bestDistance = distance;
    }
  }
  return best;
}

/** Least number of inserted, deleted, changed or swapped letters between two words. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const changed = from[row - 1] === to[column - 1] ? 0 : 1;
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + changed);
      const swapped =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
