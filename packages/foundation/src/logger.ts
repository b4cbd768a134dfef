import type { Logger } from './vocabulary.js';

/** How grave a line is. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A log that can say which lines it would not write: some parts have one for each job. */
export interface LevelledLogger extends Logger {
  isLevelEnabled?(level: LogLevel): boolean;
}

/** What takes a line as one object, by a method for each level: the Logger of NestJS. */
export interface LineSink {
  debug(line: object): void;
  log(line: object): void;
  warn(line: object): void;
  error(line: object): void;
}

/**
 * A Logger that writes each line as one object, the sentence as its `message`.
 * @param isWritten - says which levels it writes; all of them unless given.
 */
export function loggerOver(sink: LineSink, isWritten?: (level: LogLevel) => boolean): LevelledLogger {
  const withFields = (inherited: object): LevelledLogger => ({
    debug: (fields, message) => sink.debug({ message, ...inherited, ...fields }),
    info: (fields, message) => sink.log({ message, ...inherited, ...fields }),
    warn: (fields, message) => sink.warn({ message, ...inherited, ...fields }),
    error: (fields, message) => sink.error({ message, ...inherited, ...fields }),
    child: (fields) => withFields({ ...inherited, ...fields }),
    ...(isWritten && { isLevelEnabled: isWritten }),
  });
  return withFields({});
}
