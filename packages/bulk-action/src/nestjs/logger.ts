import { type Logger, loggerOver } from '@millrace/foundation';
import { Logger as Nest } from '@nestjs/common';

/** Writes to whatever logger the Nest application uses; a line for each job is made only if somebody reads it. */
export const nestLogger: Logger = loggerOver(new Nest('BulkAction'), (level) =>
  Nest.isLevelEnabled(level === 'info' ? 'log' : level),
);
