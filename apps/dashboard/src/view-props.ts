/** What every view is given. */
export interface ViewProps {
  /** The parameters of its address, decoded. */
  readonly params: Readonly<Record<string, string>>;
}
