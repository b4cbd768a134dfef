/** One holder's share of a server that several use. */
export interface ServerShare<S> {
  readonly server: S;
  /** Gives the share back; the last one stops the server. A second call does nothing. */
  release(): Promise<void>;
}

/**
 * Lets everybody in this process use one server: the first share starts it, the last one given back stops it.
 * @returns a function that hands out shares; it throws what `start` throws, and the next call tries again.
 */
export function shareServer<S extends AsyncDisposable>(
  start: () => Promise<S>,
): () => Promise<ServerShare<S>> {
  let holders = 0;
  let running: Promise<S> | undefined;

  const giveBack = async (server: S) => {
    holders -= 1;
    if (holders > 0) return;
    running = undefined;
    await server[Symbol.asyncDispose]();
  };

  return async () => {
    holders += 1;
    running ??= start();
    const mine = running;
    try {
      const server = await mine;
      let released: Promise<void> | undefined;
      return {
        server,
        release: () => {
          released ??= giveBack(server);
          return released;
        },
      };
    } catch (error) {
      holders -= 1;
      if (running === mine) running = undefined;
      throw error;
    }
  };
}
