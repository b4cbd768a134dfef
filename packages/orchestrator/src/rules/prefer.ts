/** What a caller prefers (RFC 7240), as far as it is understood here. */
export interface Preferences {
  /** Longest wait for an outcome, in milliseconds. */
  readonly waitMs: number | undefined;
  /** Would rather have the status URL than wait. */
  readonly respondAsync: boolean;
}

/** What a preference comes to. */
export interface AppliedPreference {
  /** The time budget; undefined when nothing was preferred. */
  readonly budgetMs: number | undefined;
  /** For the header Preference-Applied, given how the request was answered; undefined when nothing was applied. */
  applied(answer: 'outcome' | 'status-url'): string | undefined;
}

/** More than any caller needs; the rest is not read. */
const HEADER_LENGTH_MAX = 1_000;

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const WORD = `(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`;
const PREFERENCE = new RegExp(`^(${TOKEN})(?:\\s*=\\s*(${WORD})?)?\\s*(?:;|$)`);

/**
 * Reads the header Prefer. What is not understood is ignored, as the RFC wants; of a preference that is given twice the first counts.
 * @param header - its value; undefined when there is none.
 */
export function parsePrefer(header: string | undefined): Preferences {
  const given = new Map<string, string>();
  for (const part of splitOutsideQuotes((header ?? '').slice(0, HEADER_LENGTH_MAX))) {
    const [, name, value = ''] = PREFERENCE.exec(part.trim()) ?? [];
    if (name !== undefined && !given.has(name.toLowerCase())) given.set(name.toLowerCase(), unquoted(value));
  }
  return {
    waitMs: secondsToMs(given.get('wait')),
    // With a value it would be another preference than the one the RFC defines.
    respondAsync: given.get('respond-async') === '',
  };
}

/** Fits a preference into what is allowed. */
export function applyPreference(
  { waitMs, respondAsync }: Preferences,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): AppliedPreference {
  // No wait at all is not offered: work that is quick needs no status URL, whatever was preferred.
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

/**
 * Reads a number of seconds, such as `30` or `0.5`.
 * @returns milliseconds; undefined when it is no such number.
 */
export function secondsToMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,15}(\.\d{1,15})?$/.test(text)) return undefined;
  return Number(text) * 1000;
}

/**
 * For the header Retry-After: whole seconds, at least one, so that nobody comes back at once.
 * @param ms - when to come back.
 */
export const retryAfterSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));

const splitOutsideQuotes = (text: string): readonly string[] =>
  text.match(/(?:"(?:[^"\\]|\\.)*"|[^,"]|")+/g) ?? [];

const unquoted = (word: string): string =>
  word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word;
