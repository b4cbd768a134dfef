import { EventEmitter } from 'node:events';
import { runCli } from '../../src/cli/run-cli.js';

/** A command that runs in this process. */
export interface Captured {
  /** Takes signals and defects, as a process would. */
  readonly events: EventEmitter;
  readonly out: () => string;
  readonly err: () => string;
  readonly exitCode: Promise<number>;
}

/**
 * Runs a command of the CLI in this process.
 * @param args - its arguments.
 * @param options - the environment, which is empty otherwise, and the working directory.
 */
export function runCaptured(
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly folder?: string } = {},
): Captured {
  const texts = { out: '', err: '' };
  const into = (name: 'out' | 'err') => ({
    write: (text: string) => {
      texts[name] += text;
      return true;
    },
  });
  const events = new EventEmitter();
  const exitCode = runCli(args, {
    env: options.env ?? {},
    folder: options.folder ?? '/nowhere',
    stdout: into('out'),
    stderr: into('err'),
    events,
  });
  return { events, exitCode, out: () => texts.out, err: () => texts.err };
}
