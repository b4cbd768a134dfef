/** Rows that stand still, and how many others there are by now. */
export interface HeldRows<Row> {
  readonly rows: readonly Row[];
  readonly newer: number;
}

/**
 * Rows as they are now, in the places where they were: nobody presses the button of a row that has just moved away.
 * @param held - as they stood; one that is no longer in the list stays as it was last.
 */
export function heldRows<Row extends { readonly id: string }>(
  held: readonly Row[],
  latest: readonly Row[],
): HeldRows<Row> {
  const now = new Map(latest.map((row) => [row.id, row]));
  const rows = held.map((row) => now.get(row.id) ?? row);
  const known = new Set(held.map(({ id }) => id));
  return { rows, newer: latest.filter(({ id }) => !known.has(id)).length };
}
