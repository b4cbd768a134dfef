import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { toWorkError } from '@millrace/foundation';
import { safeText } from '../show/text.js';
import type { Asking } from './asking.js';

/** Far above what a server takes in one body; whoever names a disk instead of a file is told so. */
const BYTES_MAX = 16 * 1024 * 1024;

/**
 * Reads JSON from a file, or from standard input. Ends the command with a usage error if there is none.
 * @param file - relative to the working directory; `-` is standard input.
 */
export async function givenJson(asking: Asking, file: string): Promise<unknown> {
  const { command, signal, surroundings } = asking;
  const name = file === '-' ? 'standard input' : file;
  const source = file === '-' ? surroundings.stdin : createReadStream(resolve(surroundings.folder, file));
  try {
    return JSON.parse(await textOf(addAbortSignal(signal, source)));
  } catch (error) {
    signal.throwIfAborted();
    const problem = error instanceof SyntaxError ? 'must hold JSON' : 'cannot be read';
    // The message may quote what is there.
    return command.error(safeText(`error: ${name} ${problem}: ${toWorkError(error).message}`));
  }
}

async function textOf(source: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > BYTES_MAX) throw new RangeError(`it has more than ${BYTES_MAX} bytes`);
    chunks.push(part);
  }
  // Editors of some systems begin a file with a byte order mark, which JSON does not know.
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/^\ufeff/, '');
}
