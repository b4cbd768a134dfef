/**
 * A time as bodies have it: ISO 8601, null for what has not happened.
 * @param time - if there is one.
 */
export const isoOrNull = (time: Date | undefined): string | null => time?.toISOString() ?? null;
