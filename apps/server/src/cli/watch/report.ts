import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sep } from 'node:path';

/** A message of a supervised server to its supervisor. */
export type Report =
  /** It loads a file, or tried to. The fingerprint is from before the load. */
  | { readonly told: 'loads'; readonly file: string; readonly fingerprint: string }
  /** It accepts requests. `losesJobs` is true if bulk jobs are lost when it ends. */
  | { readonly told: 'serves'; readonly losesJobs: boolean };

/** The reply of the module loader thread to a question, after all its reports. */
export const FLUSHED = 'flushed';

/** Parses a message of a supervised server. Returns `undefined` if it is no report. */
export function readReport(message: unknown): Report | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { told, file, fingerprint, losesJobs } = message as Readonly<Record<string, unknown>>;
  if (told === 'loads' && typeof file === 'string' && typeof fingerprint === 'string')
    return { told, file, fingerprint };
  return told === 'serves' && typeof losesJobs === 'boolean' ? { told, losesJobs } : undefined;
}

/** Reports whether the user may edit a file. Files in node_modules change only by an install, which needs a restart. */
export const isEdited = (file: string): boolean => !file.split(sep).includes('node_modules');

/** The fingerprint of a file that cannot be read. */
export const ABSENT = 'absent';

/** Hashes the content of a file. Returns `ABSENT` if the file cannot be read. */
export function fingerprintOf(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('base64');
  } catch {
    return ABSENT;
  }
}
