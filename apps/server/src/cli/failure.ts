import { MillraceError, toWorkError } from '@millrace/foundation';
import { EXIT } from './surroundings.js';

/** A failed command, as a person is told. */
export interface Failure {
  readonly exitCode: number;
  /** What is wrong and what to do; the first line is a sentence that stands alone. */
  readonly lines: readonly string[];
}

/** The user asked for something that cannot be: nothing was tried. */
const USAGE_CODES = ['CONFIG_INVALID', 'KEYS_REQUIRED', 'ENVIRONMENT_INVALID'];

/** What to do about errors of parts that do not know this command. */
const HINTS: Readonly<Record<string, string>> = {
  SCHEMA_OUTDATED: 'The command is: millrace migrate',
};

/**
 * What to tell whoever ran a command that failed. No stack trace: the log has it at the level debug.
 * @param error - that it failed with.
 */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof MillraceError)) return unexpected(error);
  const { code, message, details } = error;
  const exitCode = USAGE_CODES.includes(code) ? EXIT.USAGE : EXIT.FAILED;
  const all = details.all as readonly string[] | undefined;
  if (code === 'CONFIG_INVALID' && all && all.length > 1)
    return {
      exitCode,
      lines: ['The configuration cannot be used:', ...all.map((problem) => `  ${problem}`)],
    };
  const hint = HINTS[code];
  const first =
    code === 'CONFIG_INVALID' && all?.[0] ? `The configuration cannot be used: ${all[0]}` : message;
  return { exitCode, lines: hint === undefined ? [first] : [first, hint] };
}

/** Nobody has foreseen it, so nobody can say what to do. */
const unexpected = (error: unknown): Failure => ({
  exitCode: EXIT.FAILED,
  lines: [
    `Millrace has failed: ${toWorkError(error).message} (the log at MILLRACE_LOG_LEVEL=debug says where)`,
  ],
});
