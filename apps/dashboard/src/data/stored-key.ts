const STORED = 'millrace.key';

/** Where a key is kept: with the tab, or with this browser. */
const PLACES = [() => sessionStorage, () => localStorage] as const;

/** The key of whoever looks; undefined: none was given. */
export function readKey(): string | undefined {
  for (const place of PLACES)
    try {
      const key = place().getItem(STORED);
      if (key) return key;
    } catch {
      // A browser that stores nothing asks again after a reload.
    }
  return undefined;
}

/**
 * Keeps a key.
 * @param key - the secret; undefined: forgets it.
 * @param options - `remember`: also when the tab is closed.
 */
export function writeKey(key: string | undefined, options: { readonly remember?: boolean } = {}): void {
  for (const [index, place] of PLACES.entries())
    try {
      if (key !== undefined && (index === 1) === (options.remember === true)) place().setItem(STORED, key);
      else place().removeItem(STORED);
    } catch {
      // As above.
    }
}
