import type { Logger } from '@millrace/foundation';

/** A logged line, with the fields of the parent loggers. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** Makes a logger that keeps its lines. Its children add to the same lines. */
export function recordingLogger(): { readonly log: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const make = (inherited: object): Logger => {
    const write = (level: LogLine['level']) => (fields: object, message: string) =>
      void lines.push({ level, fields: { ...inherited, ...fields }, message });
    return {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: (fields) => make({ ...inherited, ...fields }),
    };
  };
  return { log: make({}), lines };
}
