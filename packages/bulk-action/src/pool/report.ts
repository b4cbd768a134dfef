import { type LevelledLogger, type LogLevel, silentLogger } from '@millrace/foundation';

/**
 * Writes a line; a logger that throws (on a hostile error, say) ends nothing.
 * @param log - where to.
 * @param level - how grave it is.
 * @param fields - the values; a function where they are made for every job: asked only if the line is written.
 * @param message - the sentence.
 */
export function report(
  log: LevelledLogger,
  level: LogLevel,
  fields: object | (() => object),
  message: string,
): void {
  if (log === silentLogger) return;
  try {
    if (log.isLevelEnabled?.(level) === false) return;
    log[level](typeof fields === 'function' ? fields() : fields, message);
  } catch {}
}
