/** How bad it is: `failure` means that something does not work, or is about to stop working. */
export type Level = 'ok' | 'note' | 'warning' | 'failure';

/** What a look at one thing has shown. */
export interface Finding {
  readonly level: Level;
  /** Names what was looked at: the same in every run, for whoever reads the JSON. */
  readonly check: string;
  /** A sentence that stands alone. */
  readonly title: string;
  /** What was seen, with its numbers; null: the title says it all. */
  readonly seen: string | null;
  /** What to do: a command, a setting; null: nothing. */
  readonly action: string | null;
}

/** What a finding may say besides its title. */
export interface FindingMore {
  readonly seen?: string | null | undefined;
  readonly action?: string | null | undefined;
}

/** Makes a finding. */
export const finding = (level: Level, check: string, title: string, more: FindingMore = {}): Finding => ({
  level,
  check,
  title,
  seen: more.seen ?? null,
  action: more.action ?? null,
});
