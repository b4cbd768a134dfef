import { type Command, Option } from 'commander';
import type { Asking } from '../../ask/asking.js';
import { givenJson } from '../../ask/given-json.js';
import { type GivenValue, jsonValue } from '../../ask/option-values.js';

/** What work is given, by one of two options. */
export interface PayloadOptions {
  readonly payload?: GivenValue;
  readonly payloadFile?: string;
}

/**
 * Lets a command take a payload.
 * @param command - gets `--payload` and `--payload-file`.
 */
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
