import type { Logger } from '@millrace/foundation';

/**
 * Writes a line; a logger that throws (on a hostile error, say) ends nothing.
 * @param log - where to.
 * @param level - how grave it is.
 * @param fields - the values.
 * @param message - the sentence.
 */
export function report(
  log: Logger,
  level: 'debug' | 'info' | 'warn' | 'error',
  fields: object,
  message: string,
): void {
  try {
    log[level](fields, message);
  } catch {}
}
