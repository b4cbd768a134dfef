import { createServerClient, ProblemError, type ServerClient } from '@millrace/contract/server-client';
import type { Asking } from './asking.js';
import { type OwnServer, startOwnServer } from './own-server.js';

/** A server that runs, or one of the command's own. */
export interface SomeServer extends AsyncDisposable {
  readonly client: ServerClient;
  /** Sends nothing again: for what is measured, and where a refusal is not to be waited out. */
  readonly once: ServerClient;
  readonly url: string;
  /** The command has started it, and it ends with the command. */
  readonly isOwn: boolean;
}

/** For the first answer of a server that runs on this machine. */
const PATIENCE_MS = 2_000;

/**
 * The server that was named; where none was, the one at the usual address, or a new one in this process when none answers there.
 * @throws MillraceError what `startServer` throws; where a server was named: ProblemError, and what `fetch` throws.
 */
export async function someServer(asking: Asking): Promise<SomeServer> {
  const { client, url, apiKey, signal, surroundings, printer } = asking;
  const isNamed = asking.command.opts().url !== undefined || Boolean(surroundings.env.MILLRACE_URL);
  if (isNamed || (await answers(asking))) {
    // Who was named and does not answer is told of before anything is drawn.
    await client.call('getCaller', {}, { signal });
    const once = createServerClient({ baseUrl: url, apiKey, retries: 0 });
    return { client, once, url, isOwn: false, [Symbol.asyncDispose]: async () => {} };
  }
  printer.remark(`No server answers at ${url}: starting one for this command …`);
  const own: OwnServer = await startOwnServer(surroundings, signal);
  return {
    client: createServerClient({ baseUrl: own.url }),
    once: createServerClient({ baseUrl: own.url, retries: 0 }),
    url: own.url,
    isOwn: true,
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  };
}

/** Whether a Millrace server is there: other programs like that port too. */
async function answers({ url, apiKey, signal }: Asking): Promise<boolean> {
  const client = createServerClient({ baseUrl: url, apiKey, retries: 0, timeoutMs: PATIENCE_MS });
  try {
    const caller: unknown = await client.call('getCaller', {}, { signal });
    return typeof (caller as { version?: unknown } | null)?.version === 'string';
  } catch (error) {
    signal.throwIfAborted();
    // One that asks for a key is one; what is no problem of Millrace has a code that begins with the protocol.
    return error instanceof ProblemError && !error.code.startsWith('HTTP_');
  }
}
