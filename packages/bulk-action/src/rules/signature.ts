/** Longest signature. */
const SIGNATURE_CHARACTERS_MAX = 200;
const TYPE_CHARACTERS_MAX = 80;
const CODE_CHARACTERS_MAX = 50;
/** Masks shorten a text: more is read than is kept. Nothing beyond is looked at, so hostile texts cost no more. */
const MESSAGE_CHARACTERS_READ = 1000;

/**
 * What differs between two failures of one cause, in the order in which it must be recognised: quotes first, because
 * they may hold anything. Every alternative is bounded or starts only where a word starts.
 */
const VARIABLE = new RegExp(
  [
    String.raw`(?<double>"(?:[^"\\]|\\.)*")`,
    '(?<back>`[^`]*`)',
    // An apostrophe inside a word (can't) opens no quote, and inside a quote it does not end it.
    String.raw`(?<single>(?<![\p{L}\p{N}_])'(?:[^']|'(?=[\p{L}\p{N}_]))*'(?![\p{L}\p{N}_]))`,
    // A quote that the cut left open would fill the whole signature.
    String.raw`(?<open>["\u0060][^"\u0060]{200,}$|(?<![\p{L}\p{N}_])'[^']{200,}$)`,
    String.raw`(?<![\p{L}\p{N}_])(?<scheme>[a-z][a-z0-9+.-]{0,15}:\/\/)(?<url>[^\s"'\u0060<>)\]}]*)`,
    String.raw`(?<![\p{L}\p{N}_.+-])[\p{L}\p{N}_.+-]{1,64}@(?<domain>[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*)`,
    String.raw`(?<word>[\p{L}\p{N}_-]+)`,
  ].join('|'),
  'gisu',
);
const WORD = /[\p{L}\p{N}_-]+/gu;
/** Has a digit, or is hexadecimal too long to be a word. */
const ID_LIKE = /\p{N}|^[a-f]{8,}$/iu;
/** 127.0.0.1:6379, 1,000 and a list of ids are one thing each, however long. */
const MASKED_RUN = /#(?:(?:[.:]+|, ?)#)+/g;

/**
 * Names the cause of a failure: type, code and message without what differs from job to job, so that 2,000 failures
 * are 3 errors. Linear in the length of what it is given.
 * @param processorType - of the job.
 * @param code - of the error.
 * @param message - of the error; numbers, ids, quotes, and the parts of addresses that vary become `#`.
 * @returns at most 200 characters on one line.
 */
export function signatureOf(processorType: string, code: string, message: string): string {
  const parts = [
    cutText(processorType, TYPE_CHARACTERS_MAX),
    cutText(code, CODE_CHARACTERS_MAX),
    masked(cutText(message, MESSAGE_CHARACTERS_READ)),
  ];
  const line = parts
    .join(' ')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return cutText(line, SIGNATURE_CHARACTERS_MAX).trimEnd();
}

/**
 * The beginning of a text as UTF-8 can carry it: half a character would come back from a store as another text.
 * @param text - anything.
 * @param max - characters kept (UTF-16 units).
 */
export const cutText = (text: string, max: number): string =>
  text.slice(0, max).replace(/\p{Surrogate}/gu, (_half, at: number) => (at === max - 1 ? '' : '\uFFFD'));

function masked(text: string): string {
  const replaced = text.replace(VARIABLE, (found: string, ...rest: unknown[]) => {
    const { double, back, single, open, scheme, url, domain } = rest.at(-1) as Record<string, string>;
    const quoted = double ?? back ?? single ?? open;
    if (quoted !== undefined) return `${quoted[0]}#${quoted[0]}`;
    if (scheme !== undefined) return scheme.toLowerCase() + maskedUrl(url ?? '');
    if (domain !== undefined) return `#@${maskedWords(domain)}`;
    return maskedWords(found);
  });
  return replaced.replace(MASKED_RUN, '#');
}

const maskedWords = (text: string): string => text.replace(WORD, (word) => (ID_LIKE.test(word) ? '#' : word));

/** The host stays; user, path and query vary. */
function maskedUrl(rest: string): string {
  const [authority = ''] = rest.split(/[/?#]/, 1);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return maskedWords(host) + (rest.length > authority.length ? '/#' : '');
}
