import type { ResolveHook } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { MessagePort } from 'node:worker_threads';
import { FLUSHED, fingerprintOf, isEdited, type Report } from './report.js';

/** What the thread of the module loader is given. */
export interface HookData {
  /** To the thread that runs the server: takes reports; whatever it sends is answered with `FLUSHED`. */
  readonly port: MessagePort;
  readonly supervisorPid: number;
  /** What a server gets to end by itself when its supervisor is gone. */
  readonly endLimitMs: number;
}

const ORPHAN_LOOK_MS = 500;

let port: MessagePort | undefined;
const seen = new Set<string>();

/** Begins to report; Node calls it on the thread of the module loader. */
export function initialize(data: HookData): void {
  port = data.port;
  port.on('message', () => port?.postMessage(FLUSHED));
  endWithSupervisor(data);
}

/** Here, since the thread that runs the server may be in a loop of the user's that never ends. */
function endWithSupervisor({ supervisorPid, endLimitMs }: HookData): void {
  const looking = setInterval(() => {
    if (process.ppid === supervisorPid) return;
    clearInterval(looking);
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), endLimitMs);
  }, ORPHAN_LOOK_MS);
}

/** Reports which file an import leads to, and changes nothing; Node calls it for every import. */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  try {
    const found = await nextResolve(specifier, context);
    report(found.url);
    return found;
  } catch (error) {
    // Whoever writes the missing file expects the server to notice.
    if (/^(\.{0,2}\/|file:)/.test(specifier)) report(new URL(specifier, context.parentURL).href);
    throw error;
  }
};

function report(url: string): void {
  // Once: the first import loads it, those that follow share it.
  if (!url.startsWith('file:') || seen.has(url)) return;
  seen.add(url);
  const file = fileURLToPath(url);
  if (!isEdited(file)) return;
  port?.postMessage({ told: 'loads', file, fingerprint: fingerprintOf(file) } satisfies Report);
}
