/** How long a backend may take to answer. */
export const CHECK_MS = 1_000;

/** Something that a server needs. */
export interface Backend {
  readonly name: string;
  /**
   * Asks it. Throws with what is wrong.
   * @returns what could not be looked at, if anything.
   */
  check(): Promise<string | undefined>;
  /** Lets go of what the asking needs. */
  stop?(): Promise<void>;
}
