import { safeText, shortened } from './text.js';

/** Of one field: a stack of an error would fill the screen; the log as JSON has the whole. */
const FIELD_CHARACTERS_MAX = 200;
/** `error` is as long. */
const LEVEL_WIDTH = 5;

/**
 * A line of the log as a person reads it at a terminal: `05:42:10 warn  Redis is away: waiting for it backend=Redis`.
 * @param line - of JSON, as the log writes it; anything else is shown as it is, made safe.
 */
export function logLine(line: string): string {
  const entry = entryOf(line);
  if (!entry) return `${safeText(line.trimEnd())}\n`;
  const { level, time, msg, ...fields } = entry;
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${shownValue(value)}`);
  const text = [clockTime(time), String(level).padEnd(LEVEL_WIDTH), msg ?? '', ...shown].join(' ');
  return `${safeText(text)}\n`;
}

function entryOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? { ...entry } : undefined;
  } catch {
    return undefined;
  }
}

/** On the clock of whoever looks at the terminal. */
const clockTime = (time: unknown): string => new Date(String(time)).toTimeString().slice(0, 8);

function shownValue(value: unknown): string {
  // An error, as the log writes it.
  const { message } = Object(value) as { readonly message?: unknown };
  const said = typeof message === 'string' ? message : value;
  const isWord = typeof said === 'string' && /^[^\s"=]+$/.test(said);
  return shortened(isWord ? said : JSON.stringify(said), FIELD_CHARACTERS_MAX);
}
