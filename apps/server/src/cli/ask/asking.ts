import { createServerClient, type ServerClient } from '@millrace/contract/server-client';
import { toWorkError } from '@millrace/foundation';
import type { Command } from 'commander';
import { ERRORS } from '../../errors.js';
import { AdvisedError } from '../failure.js';
import { Printer } from '../show/printer.js';
import { shellWord } from '../show/text.js';
import { type End, EXIT, type Surroundings } from '../surroundings.js';

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** A command that asks a running server. */
export interface Asking {
  readonly client: ServerClient;
  /** Where the server is. */
  readonly url: string;
  /** For requests that the client does not make. */
  readonly apiKey: string | undefined;
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal;
  readonly printer: Printer;
  readonly surroundings: Surroundings;
  /** Whether data shall be JSON. */
  readonly isJson: boolean;
  /** For `command.error(…)`: what was given cannot be. */
  readonly command: Command;
  /** Prints the data of the answer: as JSON where that is asked for, else as `show` does. */
  answer(data: unknown, show: (printer: Printer) => void): void;
}

/** What a command does with a server; the exit code where it is not 0. */
export type Ask<Options> = (asking: Asking, options: Options) => Promise<number | undefined>;

/**
 * Lets a command ask a running server: gives it `--url`, `--api-key` and `--json`, and an action that ends with Ctrl-C.
 * @param ask - the work. Arguments are among the options, by the names that the command gives them.
 */
export function asksServer<Options extends object>(
  command: Command,
  surroundings: Surroundings,
  end: End,
  ask: Ask<Options>,
): Command {
  return command
    .option('--json', 'Print the data as JSON.')
    .optionsGroup('The server:')
    .option('--url <url>', `Where it is (MILLRACE_URL, else ${DEFAULT_URL}).`)
    .option('--api-key <secret>', 'The key to it (better in MILLRACE_API_KEY: others can read arguments).')
    .action(async () => {
      const names = command.registeredArguments.map((argument) => argument.name());
      const given = Object.fromEntries(names.map((name, index) => [name, command.processedArgs[index]]));
      const options = { ...command.opts(), ...given };
      const exitCode = await untilInterrupted(surroundings, (signal) =>
        heard(askingOf(command, surroundings, options, signal), (asking) => ask(asking, options as Options)),
      );
      end(exitCode);
    });
}

interface ServerOptions {
  readonly json?: boolean;
  readonly url?: string;
  readonly apiKey?: string;
}

function askingOf(
  command: Command,
  surroundings: Surroundings,
  options: ServerOptions,
  signal: AbortSignal,
): Asking {
  const { env } = surroundings;
  const url = baseUrlOf(command, options.url ?? (env.MILLRACE_URL || DEFAULT_URL));
  const apiKey = options.apiKey ?? (env.MILLRACE_API_KEY || undefined);
  const printer = new Printer(surroundings);
  const isJson = options.json === true;
  return {
    client: createServerClient({ baseUrl: url, apiKey }),
    url,
    apiKey,
    signal,
    printer,
    surroundings,
    isJson,
    command,
    answer: (data, show) => (isJson ? printer.json(data) : show(printer)),
  };
}

function baseUrlOf(command: Command, given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    return command.error(`error: --url must be an http or https address such as ${DEFAULT_URL}`);
  if (url.username || url.password)
    return command.error(
      'error: --url must hold no password: give the key with --api-key or MILLRACE_API_KEY',
    );
  return given.replace(/\/+$/, '');
}

async function heard(
  asking: Asking,
  ask: (asking: Asking) => Promise<number | undefined>,
): Promise<number | undefined> {
  try {
    return await ask(asking);
  } catch (error) {
    throw asking.signal.aborted ? error : told(asking, error);
  }
}

/** A server that cannot be reached is told as such, not as what `fetch` says. */
function told(asking: Asking, error: unknown): unknown {
  if (error instanceof AdvisedError)
    return new AdvisedError(told(asking, error.cause), error.advice, error.sentence);
  if (!isConnectionError(error)) return error;
  const { cause } = error as Error;
  const reason = toWorkError(cause ?? error).message || 'it did not answer';
  return ERRORS.create('SERVER_UNREACHABLE', { url: asking.url, reason }, { cause: error });
}

/**
 * Whether a server could not be reached, or broke off: what `fetch` and the deadline of a request throw. What it has refused is a ProblemError.
 */
export const isConnectionError = (error: unknown): boolean =>
  (error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message)) ||
  (error instanceof DOMException && error.name === 'TimeoutError');

async function untilInterrupted(
  { events }: Surroundings,
  work: (signal: AbortSignal) => Promise<number | undefined>,
): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  for (const signal of SIGNALS) events.on(signal, interrupt);
  try {
    return (await work(interrupted.signal)) ?? EXIT.DONE;
  } catch (error) {
    if (interrupted.signal.aborted) return EXIT.INTERRUPTED;
    throw error;
  } finally {
    for (const signal of SIGNALS) events.off(signal, interrupt);
  }
}

/** The last: the terminal has been closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Builds a command for the user to copy. It names the same server as the current command.
 * @param words - the arguments after `millrace`. Quotes ids that a shell would interpret.
 */
export function nextCommand({ command, url }: Asking, ...words: readonly string[]): string {
  const isNamed = command.opts().url !== undefined;
  return ['millrace', ...words, ...(isNamed ? ['--url', url] : [])].map(shellWord).join(' ');
}

/**
 * Runs `watch`. If the user interrupts it, prints that the work continues and the command that watches it again.
 * @param again - the arguments of that command, after `millrace`.
 * @throws the errors of `watch`.
 */
export async function watchWork<T>(
  asking: Asking,
  again: readonly string[],
  watch: () => Promise<T>,
): Promise<T> {
  try {
    return await watch();
  } catch (error) {
    if (asking.signal.aborted)
      asking.printer.remark(`The work continues. Watch it with: ${nextCommand(asking, ...again)}`);
    throw error;
  }
}
