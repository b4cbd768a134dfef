/** Beyond a day an answer is taken for a mistake; the engine cuts there too. */
const MAX_MS = 86_400_000;
/** The one form of a date that HTTP allows to be sent. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * How long a service asks to be left alone.
 * @param header - its `Retry-After`: seconds, or a date.
 * @param nowMs - milliseconds since 1970.
 * @returns milliseconds, 0 for a date that has passed; undefined when it says nothing that can be read.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(MAX_MS, Number(text) * 1000);
  if (!HTTP_DATE.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(MAX_MS, Math.max(0, at - nowMs));
}
