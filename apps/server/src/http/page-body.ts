/** A part of a list, as all parts of the server give it. */
interface Page<T> {
  readonly items: readonly T[];
  readonly cursor?: string | undefined;
}

/** A part of a list, as bodies have it. */
export const pageBody = <T, B>(
  { items, cursor }: Page<T>,
  body: (item: T) => B,
): { items: B[]; cursor: string | null } => ({ items: items.map(body), cursor: cursor ?? null });
