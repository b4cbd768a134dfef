import { type FocusEvent, useState } from 'react';

/** A list that stands still while somebody points at it or goes through it by keys. */
export interface HeldList<Row> {
  readonly rows: readonly Row[] | undefined;
  /** How many there are by now that are not shown. */
  readonly newer: number;
  /** For what is around the list. */
  readonly around: {
    onPointerEnter(): void;
    onPointerLeave(): void;
    onFocus(event: FocusEvent): void;
    onBlur(event: FocusEvent): void;
  };
}

interface Hold<Row> {
  readonly of: string;
  readonly rows: readonly Row[];
}

/**
 * Keeps the rows of a live list in their places while somebody is about to press one of their buttons.
 * @param latest - what the list says now; undefined: it is on its way.
 * @param of - what is listed: another list is not held.
 * @param isEarlier - whether `latest` is still the list before, shown until this one is there: it is not held.
 */
export function useHeldRows<Row extends { readonly id: string }>(
  latest: readonly Row[] | undefined,
  of: string,
  isEarlier: boolean,
): HeldList<Row> {
  const [isPointedAt, setPointedAt] = useState(false);
  const [hold, setHold] = useState<Hold<Row>>();
  const isHeld = isPointedAt && hold?.of === of && latest !== undefined;
  const { rows, newer } = isHeld ? heldRows(hold.rows, latest) : { rows: latest, newer: 0 };
  // What was last known of a row that leaves the list is what stays of it.
  if (isHeld && rows?.some((row, index) => row !== hold.rows[index])) setHold({ of, rows });
  if (isPointedAt && !isHeld && latest && !isEarlier) setHold({ of, rows: latest });
  const begin = () => setPointedAt(true);
  const end = () => {
    setPointedAt(false);
    setHold(undefined);
  };
  return {
    rows,
    newer,
    around: {
      onPointerEnter: begin,
      onPointerLeave: end,
      onFocus: ({ target }) => {
        if (target.matches(':focus-visible')) begin();
      },
      onBlur: ({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) end();
      },
    },
  };
}

/** Rows in their old places, and the number of rows that are new since then. */
export interface HeldRows<Row> {
  readonly rows: readonly Row[];
  readonly newer: number;
}

/**
 * Updates rows without moving them, so that a user does not press the button of a row that has just moved away.
 * @param held - the rows as shown. A row that has left the list keeps its last state.
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
