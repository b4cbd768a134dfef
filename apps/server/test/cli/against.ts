import type { TestServer } from '../serve.js';
import { type CapturedOptions, runCaptured } from './captured.js';

/** How a command has ended. */
export interface Ran {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs commands against a server of a test.
 * @param server - asked when a command runs: it need not have started yet.
 */
export const against =
  (server: () => TestServer, key?: string) =>
  async (args: readonly string[], options: CapturedOptions = {}): Promise<Ran> => {
    const env = {
      MILLRACE_URL: server().url,
      ...(key !== undefined && { MILLRACE_API_KEY: key }),
      ...options.env,
    };
    const { exitCode, out, err } = runCaptured(args, { ...options, env });
    return { exitCode: await exitCode, out: out(), err: err() };
  };
