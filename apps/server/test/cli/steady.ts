/** What is measured, or counted from now, is another at every look. */
const MEASURED = ['settledPerSecond', 'etaMs', 'dueAt', 'opensInMs'];

/** A body without what is another at every look: two of the same thing can be compared. */
export const steady = (body: unknown): unknown =>
  JSON.parse(typeof body === 'string' ? body : JSON.stringify(body), (name, value) =>
    MEASURED.includes(name) ? undefined : value,
  );
