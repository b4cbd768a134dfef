import { type Child, startChild } from './child.js';
import type { ServerBrief, ServerReady, ServerUsage } from './server-brief.js';

const SERVER = new URL('./server-child.js', import.meta.url);
const LOAD = new URL('./load-child.js', import.meta.url);

/** A server in a process of its own. */
export interface Server {
  readonly port: number;
  usage(): Promise<ServerUsage>;
  stop(): Promise<void>;
}

/** Starts a server; it listens when this returns. */
export async function startServer(brief: ServerBrief): Promise<Server> {
  const child = await startChild(SERVER, brief);
  return {
    port: (child.ready as ServerReady).port,
    usage: async () => (await child.ask({})) as ServerUsage,
    stop: () => child.stop(),
  };
}

let running: Promise<Child> | undefined;

/** The process that makes the load, one for the whole run; started by the first who asks. */
export function load(): Promise<Child> {
  running ??= startChild(LOAD);
  return running;
}

/** Ends it if there is one. */
export async function stopLoad(): Promise<void> {
  const current = running;
  running = undefined;
  await (await current)?.stop();
}
