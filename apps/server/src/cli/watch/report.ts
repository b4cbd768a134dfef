import { sep } from 'node:path';

/** What a supervised server tells its supervisor. */
export type Report =
  /** It loads a file, or wanted to; the fingerprint is of before. */
  | { readonly told: 'loads'; readonly file: string; readonly fingerprint: string }
  /** It answers; whether its end loses bulk jobs. */
  | { readonly told: 'serves'; readonly losesJobs: boolean };

/** What the thread of the module loader answers to a question, after all its reports. */
export const FLUSHED = 'flushed';

/**
 * Reads a message of a supervised server.
 * @returns undefined when it is no report.
 */
export function readReport(message: unknown): Report | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { told, file, fingerprint, losesJobs } = message as Readonly<Record<string, unknown>>;
  if (told === 'loads' && typeof file === 'string' && typeof fingerprint === 'string')
    return { told, file, fingerprint };
  return told === 'serves' && typeof losesJobs === 'boolean' ? { told, losesJobs } : undefined;
}

/**
 * Whether people edit a file: what is installed changes by installing, after which nobody expects a running server to follow.
 */
export const isEdited = (file: string): boolean => !file.split(sep).includes('node_modules');
