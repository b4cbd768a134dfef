import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The fingerprint of a file that cannot be read. */
export const ABSENT = 'absent';

/**
 * What stands for the content of a file: the same for the same content, whenever it was written.
 * @returns ABSENT when there is nothing to read.
 */
export function fingerprintOf(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('base64');
  } catch {
    return ABSENT;
  }
}
