import { type Logger, loggerOver } from '@millrace/foundation';
import { Logger as Nest } from '@nestjs/common';

/** Writes to whatever logger the Nest application uses. */
export const nestLogger: Logger = loggerOver(new Nest('Millrace'));
