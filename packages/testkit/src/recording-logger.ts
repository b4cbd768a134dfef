import type { Logger } from '@millrace/foundation';

/** One line that was logged, with the fields of its logger's parents. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** A logger that keeps what it is told; children write into the same lines. */
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
