const SHOWN = 5;

/**
 * The first few of many complaints, and how many there are.
 * @param complaints - at least one.
 */
export const some = (complaints: readonly string[]): string =>
  `${complaints.length} wrong: ${complaints.slice(0, SHOWN).join('; ').slice(0, 1500)}`;
