import type { Logger } from '@millrace/foundation';
import { Logger as Nest } from '@nestjs/common';

const nest = new Nest('Orchestrator');

const loggerWith = (inherited: object): Logger => ({
  debug: (fields, message) => nest.debug({ message, ...inherited, ...fields }),
  info: (fields, message) => nest.log({ message, ...inherited, ...fields }),
  warn: (fields, message) => nest.warn({ message, ...inherited, ...fields }),
  error: (fields, message) => nest.error({ message, ...inherited, ...fields }),
  child: (fields) => loggerWith({ ...inherited, ...fields }),
});

/** Writes to whatever logger the Nest application uses. */
export const nestLogger: Logger = loggerWith({});
