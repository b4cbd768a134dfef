import { type Clock, sleep } from '@millrace/foundation';
import { isPortInUse } from '../../http/free-port.js';

/** Between two looks at a port that is in use. */
export const PORT_LOOK_MS = 1_000;

/** What the waiting needs. */
export interface AwaitPort {
  readonly port: number;
  readonly clock: Clock;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Tells whoever develops, once. */
  say(line: string): void;
}

/**
 * Starts a server as soon as its port is free: whoever stops another server does not edit a file to be served.
 * @param start - finds first whether the port is in use, before it opens anything.
 * @throws the signal's reason; what the start throws, unless it is that the port is in use.
 */
export async function awaitPort<T>(start: () => Promise<T>, needs: AwaitPort): Promise<T> {
  const { port, clock, signal, say } = needs;
  for (let looks = 1; ; looks++) {
    try {
      return await start();
    } catch (error) {
      if (!isPortInUse(error)) throw error;
      if (looks === 1) say(`Port ${port} is in use: waiting for it; --port names another.`);
      await sleep(clock, PORT_LOOK_MS, signal);
      signal.throwIfAborted();
    }
  }
}
