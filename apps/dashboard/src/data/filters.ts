import { useCallback } from 'react';
import { useSearchParams } from 'wouter';

/** Filters that live in the address: a filtered list can be reloaded and sent to somebody. */
export interface Filters<Name extends string> {
  /** '' for one that is not set. */
  readonly values: Readonly<Record<Name, string>>;
  /** Sets some; '' takes one away. */
  set(change: Partial<Record<Name, string>>): void;
}

/** The filters of a view. */
export function useFilters<const Name extends string>(...names: readonly Name[]): Filters<Name> {
  const [search, setSearch] = useSearchParams();
  const values = Object.fromEntries(names.map((name) => [name, search.get(name) ?? ''])) as Record<
    Name,
    string
  >;
  const set = useCallback(
    (change: Partial<Record<Name, string>>) =>
      setSearch(
        (before) => {
          const next = new URLSearchParams(before);
          for (const [name, value] of Object.entries<string | undefined>(change))
            if (value) next.set(name, value);
            else next.delete(name);
          return next;
        },
        // Typing into a filter is not a way that somebody wants to go back step by step.
        { replace: true },
      ),
    [setSearch],
  );
  return { values, set };
}
