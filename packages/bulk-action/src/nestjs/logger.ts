import type { Logger } from '@millrace/foundation';
import { Logger as Nest } from '@nestjs/common';

const nest = new Nest('BulkAction');

interface LevelledLogger extends Logger {
  isLevelEnabled(level: 'debug' | 'info' | 'warn' | 'error'): boolean;
}

const loggerWith = (inherited: object): LevelledLogger => ({
  debug: (fields, message) => nest.debug({ message, ...inherited, ...fields }),
  info: (fields, message) => nest.log({ message, ...inherited, ...fields }),
  warn: (fields, message) => nest.warn({ message, ...inherited, ...fields }),
  error: (fields, message) => nest.error({ message, ...inherited, ...fields }),
  child: (fields) => loggerWith({ ...inherited, ...fields }),
  // A line per job is made only if somebody reads it.
  isLevelEnabled: (level) => Nest.isLevelEnabled(level === 'info' ? 'log' : level),
});

/** Writes to whatever logger the Nest application uses. */
export const nestLogger: Logger = loggerWith({});
