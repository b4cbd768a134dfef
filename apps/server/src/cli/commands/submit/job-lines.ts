import { open } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { BodyPieces } from '@millrace/contract/server-client';
import { toWorkError } from '@millrace/foundation';
import type { Asking } from '../../ask/asking.js';

/** Read from a disk in one step. */
const READ_BYTES = 262_144;
/** Lines that are made are handed over in pieces of about so many characters: a piece for each would cost more than the line. */
const MADE_CHARACTERS = 65_536;

/** Lines of JSON, one job each. */
export interface JobLines extends AsyncDisposable {
  readonly pieces: BodyPieces;
  /** Where they come from, for people. */
  readonly name: string;
  /**
   * A line of them, for people.
   * @param line - from 1.
   */
  readonly where: (line: number) => string;
  /** Of all of them, where that is known. */
  readonly bytes: number | undefined;
}

/**
 * Opens a file of jobs, or standard input. Ends the command with a usage error if the file is missing.
 * @param file - relative to the working directory; `-` is standard input.
 */
export async function readLines({ command, surroundings }: Asking, file: string): Promise<JobLines> {
  const { stdin, folder } = surroundings;
  const name = file === '-' ? 'standard input' : basename(file);
  const where = (line: number) => `${name}, line ${line}`;
  if (file === '-')
    return { pieces: stdin, name, where, bytes: undefined, [Symbol.asyncDispose]: async () => {} };
  try {
    const handle = await open(resolve(folder, file));
    const stat = await handle.stat();
    const pieces = handle.createReadStream({ highWaterMark: READ_BYTES, autoClose: false });
    const close = async () => {
      pieces.destroy();
      await handle.close();
    };
    if (stat.isDirectory()) {
      await close();
      throw new Error('it is a directory');
    }
    const bytes = stat.isFile() ? stat.size : undefined;
    return { pieces, name, where, bytes, [Symbol.asyncDispose]: close };
  } catch (error) {
    return command.error(`error: ${file} cannot be read: ${toWorkError(error).message}`);
  }
}

/**
 * The same job, many times.
 */
export function madeLines(job: object, count: number): JobLines {
  const line = `${JSON.stringify(job)}\n`;
  const atOnce = Math.max(1, Math.floor(MADE_CHARACTERS / line.length));
  function* pieces() {
    for (let left = count; left > 0; left -= atOnce) yield line.repeat(Math.min(left, atOnce));
  }
  return {
    pieces: pieces(),
    name: 'the jobs made',
    where: () => 'The job that the options make',
    bytes: Buffer.byteLength(line) * count,
    [Symbol.asyncDispose]: async () => {},
  };
}
