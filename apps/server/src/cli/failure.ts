import { ProblemError } from '@millrace/contract/server-client';
import { MillraceError, toWorkError } from '@millrace/foundation';
import { EXIT } from './surroundings.js';

/** A failed command, as a person is told. */
export interface Failure {
  readonly exitCode: number;
  /** What is wrong and what to do; the first line is a sentence that stands alone. */
  readonly lines: readonly string[];
}

/** An error with what to do about it, by the command that knows. */
export class AdvisedError extends Error {
  override readonly name = 'AdvisedError';
  /** Lines that follow those of the error. */
  readonly advice: readonly string[];
  /** Instead of the words of the error; undefined: they stay. */
  readonly sentence: string | undefined;

  /**
   * @param sentence - what went wrong in the words of the command, where those of the error would not be understood.
   */
  constructor(cause: unknown, advice: readonly string[], sentence?: string) {
    super(toWorkError(cause).message, { cause });
    this.advice = advice;
    this.sentence = sentence;
  }
}

/** The user asked for something that cannot be: nothing was tried. */
const USAGE_CODES = ['CONFIG_INVALID', 'KEYS_REQUIRED', 'ENVIRONMENT_INVALID'];

/** What to do about errors of parts that do not know this command. */
const HINTS: Readonly<Record<string, string>> = {
  SCHEMA_OUTDATED: 'The command is: millrace migrate',
};

/** What to tell whoever ran a command that failed. No stack trace: the log has it at the level debug. */
export function failureOf(error: unknown): Failure {
  if (error instanceof AdvisedError) {
    const failure = failureOf(error.cause);
    const lines = error.sentence === undefined ? failure.lines : [error.sentence];
    return { ...failure, lines: [...lines, ...error.advice] };
  }
  if (error instanceof ProblemError) return refused(error);
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

/** What to do about a refusal, where the server cannot know how it was asked. */
const STATUS_HINTS: Readonly<Record<number, string>> = {
  401: 'The key is what MILLRACE_API_KEY holds, or --api-key.',
  429: 'It has had too many requests: try again in a moment.',
  503: 'It may answer later: `millrace doctor` says what is wrong.',
};

/** The same by the code of the refusal. */
const CODE_HINTS: Readonly<Record<string, string>> = {
  GROUP_NOT_FOUND: 'Groups of a tenant are named tenant/id. To see them: millrace groups list',
};

/** A server has said no. What it was asked was wrong, or it could not. */
function refused({ status, problem }: ProblemError): Failure {
  const { detail, code, errors = [] } = problem;
  const hint = CODE_HINTS[code] ?? STATUS_HINTS[status];
  return {
    exitCode: status === 400 ? EXIT.USAGE : EXIT.FAILED,
    lines: [
      `${detail} (${code})`,
      ...(errors.length > 1 ? errors.map(({ field, message }) => `  ${field}: ${message}`) : []),
      ...(hint === undefined ? [] : [hint]),
    ],
  };
}

/** Nobody has foreseen it, so nobody can say what to do. */
const unexpected = (error: unknown): Failure => ({
  exitCode: EXIT.FAILED,
  lines: [
    `Millrace has failed: ${toWorkError(error).message} (the log at MILLRACE_LOG_LEVEL=debug says where)`,
  ],
});
