/** Why an attempt failed. */
export interface AttemptError {
  readonly code: string;
  readonly message?: string | undefined;
  /** Name of the class of the error. */
  readonly errorClass?: string | undefined;
}

/** What a processor leaves of an attempt that succeeded. */
export interface AttemptResult {
  /** JSON. */
  readonly data?: string | undefined;
  /** Summed up by name for the group. Values that are not finite are not counted. */
  readonly numbers?: Readonly<Record<string, number>> | undefined;
}

/** What is to be kept of a job that ends. */
export interface JobReport {
  /** Of the attempt that ended it; undefined if there was none. */
  readonly durationMs: number | undefined;
  readonly result?: AttemptResult | undefined;
  readonly error?: AttemptError | undefined;
  /** True for a failure that becomes a dead letter. */
  readonly isDead?: boolean | undefined;
  /** The aggregator of its processor type, if its instance has one. */
  readonly aggregator?: string | undefined;
  /** True for a processor whose payloads and results are not shown. */
  readonly isPrivate?: boolean | undefined;
}
