import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { toWorkError } from '@millrace/foundation';
import { type Command, Option } from 'commander';
import { safeText } from '../show/text.js';
import type { Asking } from './asking.js';
import { type GivenValue, jsonValue } from './options.js';

/** Far above what a server accepts in one body. Stops the read if the file is a device. */
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
    // The message may quote the content of the file.
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
  // Some editors start a file with a byte order mark, which JSON.parse rejects.
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/^\ufeff/, '');
}

/** The payload of `--payload` or `--payload-file`. */
export interface PayloadOptions {
  readonly payload?: GivenValue;
  readonly payloadFile?: string;
}

/** Adds `--payload` and `--payload-file` to a command. */
export const payloadOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--payload <json>', 'What it is given, as JSON.')
        .argParser(jsonValue)
        .conflicts('payloadFile'),
    )
    .option('--payload-file <file>', 'The same from a file, - for standard input.');

/** Returns the payload of `--payload` or `--payload-file`. Ends the command with a usage error if the file has no JSON. */
export const givenPayload = async (asking: Asking, options: PayloadOptions): Promise<unknown> =>
  options.payloadFile === undefined ? options.payload?.value : givenJson(asking, options.payloadFile);
