import { useState } from 'react';

/** Where somebody is in a list that the server hands out page by page. */
export interface CursorPages {
  /** Of the page that is shown; undefined for the first. */
  readonly cursor: string | undefined;
  /** From 1. */
  readonly number: number;
  next(cursor: string): void;
  back(): void;
}

interface Place {
  readonly of: string;
  readonly cursors: readonly string[];
}

/** Pages of a list; the first again when another list is asked for. */
export function useCursorPages(of: string): CursorPages {
  const [place, setPlace] = useState<Place>({ of, cursors: [] });
  const cursors = place.of === of ? place.cursors : [];
  return {
    cursor: cursors.at(-1),
    number: cursors.length + 1,
    next: (cursor) => setPlace({ of, cursors: [...cursors, cursor] }),
    back: () => setPlace({ of, cursors: cursors.slice(0, -1) }),
  };
}
