/** A value that somebody has set. */
export interface GivenSetting {
  readonly value: unknown;
  /** Where, in words of whoever set it: `--port`, `PORT`, `port in millrace.config.json`. */
  readonly origin: string;
}

/** What one place sets, by the path of the setting. */
export type GivenSettings = ReadonlyMap<string, GivenSetting>;

/** Variables by name, such as `process.env`; an empty one counts as absent. */
export type Environment = Readonly<Record<string, string | undefined>>;
