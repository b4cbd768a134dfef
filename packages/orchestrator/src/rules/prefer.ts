/** The known preferences of a caller (RFC 7240). */
export interface Preferences {
  /** Longest wait for an outcome, in milliseconds. */
  readonly waitMs: number | undefined;
  /** True if the caller prefers the status URL to a wait. */
  readonly respondAsync: boolean;
}

/** The effect of a preference. */
export interface AppliedPreference {
  /** The time budget. undefined without a preference. */
  readonly budgetMs: number | undefined;
  /** Returns the header Preference-Applied for a kind of response. undefined if nothing was applied. */
  applied(answer: 'outcome' | 'status-url'): string | undefined;
}

/** Longer than any caller needs. The rest is not read. */
const HEADER_LENGTH_MAX = 1_000;

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const WORD = `(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`;
const PREFERENCE = new RegExp(`^(${TOKEN})(?:\\s*=\\s*(${WORD})?)?\\s*(?:;|$)`);

/** Parses the header Prefer. As the RFC says, ignores unknown preferences and takes the first of two with one name. */
export function parsePrefer(header: string | undefined): Preferences {
  const given = new Map<string, string>();
  for (const part of splitOutsideQuotes((header ?? '').slice(0, HEADER_LENGTH_MAX))) {
    const [, name, value = ''] = PREFERENCE.exec(part.trim()) ?? [];
    if (name !== undefined && !given.has(name.toLowerCase())) given.set(name.toLowerCase(), unquoted(value));
  }
  return {
    waitMs: secondsToMs(given.get('wait')),
    // With a value it is another preference than that of the RFC.
    respondAsync: given.get('respond-async') === '',
  };
}

/** Keeps a preference within the allowed range. */
export function applyPreference(
  { waitMs, respondAsync }: Preferences,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): AppliedPreference {
  // The minimum is not 0: quick work needs no status URL, whatever the caller prefers.
  const wantedMs = waitMs ?? (respondAsync ? minMs : undefined);
  const budgetMs = wantedMs === undefined ? undefined : Math.min(maxMs, Math.max(minMs, wantedMs));
  return {
    budgetMs,
    applied(answer) {
      const done = [
        respondAsync && answer === 'status-url' ? 'respond-async' : undefined,
        waitMs !== undefined && budgetMs !== undefined ? `wait=${budgetMs / 1000}` : undefined,
      ];
      return done.filter((one) => one !== undefined).join(', ') || undefined;
    },
  };
}

/** Parses a number of seconds, such as `30` or `0.5`. Returns milliseconds, or undefined for other text. */
export function secondsToMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,15}(\.\d{1,15})?$/.test(text)) return undefined;
  return Number(text) * 1000;
}

/** Writes the header Retry-After: whole seconds, at least 1, so that no caller returns at once. */
export const retryAfterSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));

const splitOutsideQuotes = (text: string): readonly string[] =>
  text.match(/(?:"(?:[^"\\]|\\.)*"|[^,"]|")+/g) ?? [];

const unquoted = (word: string): string =>
  word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word;
