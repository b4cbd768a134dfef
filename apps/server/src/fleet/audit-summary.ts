/** Longest summary of a body, in bytes of UTF-8. */
export const SUMMARY_BYTES_MAX = 4_096;
/** What is looked at of a body, however large it is. */
const TEXT_CHARACTERS_MAX = 500;
const VALUES_MAX = 500;

const CUT = '…';
const MASK = '[secret]';
const SECRET_NAME =
  /pass(word|wd|phrase)?$|pwd|secret|token|authorization|cookie|credential|(api|private|access)[-_]?key/i;

/**
 * What a body says, short and without secrets: fields that are named like one are masked, and so is what `hide` knows, wherever it stands.
 * @param body - anything JSON can carry; undefined: there is none.
 * @returns JSON, cut where it is too long; null when there is no body.
 */
export function summaryOf(body: unknown, hide: (text: string) => string): string | null {
  if (body === undefined || body === null) return null;
  let values = 0;
  const shown = (name: string, value: unknown): unknown => {
    values++;
    if (values > VALUES_MAX) return undefined;
    // Whatever it is: a secret may be an object, or be taken apart.
    if (SECRET_NAME.test(name) && value !== null && typeof value !== 'boolean') return MASK;
    return typeof value === 'string' ? cut(hide(value), TEXT_CHARACTERS_MAX) : value;
  };
  const text = hide(JSON.stringify(body, shown) ?? '');
  const whole = values > VALUES_MAX ? text + CUT : text;
  return Buffer.byteLength(whole) <= SUMMARY_BYTES_MAX ? whole : cutBytes(whole);
}

/**
 * A text as the audit log can keep it: what PostgreSQL would refuse is shown as unreadable, what is long is cut.
 */
export const keptText = (text: string, hide: (text: string) => string): string =>
  cut(hide(text).replaceAll(/\0|\p{Surrogate}/gu, '\u{FFFD}'), TEXT_CHARACTERS_MAX);

/** Not through the middle of a pair: half of one cannot be kept. */
const cut = (text: string, max: number): string =>
  text.length <= max ? text : text.slice(0, max).replace(/\p{Surrogate}$/u, '') + CUT;

function cutBytes(text: string): string {
  const room = SUMMARY_BYTES_MAX - Buffer.byteLength(CUT);
  return (
    Buffer.from(text)
      .subarray(0, room)
      .toString()
      .replace(/\u{FFFD}$/u, '') + CUT
  );
}
