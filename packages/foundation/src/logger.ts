/** A structured logger with pino's argument order: fields first, then the message. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Returns a logger that adds these fields to every line. */
  child(fields: object): Logger;
}

const ignore = () => {};

/** A logger that writes nothing. */
export const silentLogger: Logger = Object.freeze({
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLogger,
});

/** Severity of a log line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A logger that can report which levels it writes, so that callers can skip work for the others. */
export interface LevelledLogger extends Logger {
  isLevelEnabled?(level: LogLevel): boolean;
}

/** A logger that takes each line as one object, such as the Logger of NestJS. */
export interface LineSink {
  debug(line: object): void;
  log(line: object): void;
  warn(line: object): void;
  error(line: object): void;
}

/**
 * Makes a Logger that writes each line as one object with the text as its `message`.
 * @param isWritten - reports which levels the sink writes (all).
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
