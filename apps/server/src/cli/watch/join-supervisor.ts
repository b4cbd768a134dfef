import { createRequire, register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { type Clock, withDeadline } from '@millrace/foundation';
import { loadApp } from '../../compose/load-app.js';
import { type App, defineApp } from '../../define-app.js';
import { EXIT } from '../surroundings.js';
import type { HookData } from './module-hook.js';
import { FLUSHED, fingerprintOf, isEdited, type Report, readReport } from './report.js';
import { END_LIMIT_MS, REPLACE_SIGNAL } from './supervision.js';

/** How long the end of a process waits for its last reports. */
const FLUSH_LIMIT_MS = 1_000;

/** A server's way to its supervisor. */
export interface ToSupervisor {
  /**
   * Tells of files, and from the first time on of all that are imported, those so far too. A server that cannot be configured tells of
   * none, so that nobody waits for one of them to change.
   */
  watch(files: readonly string[]): void;
  /** Tells that the server answers. */
  serves(losesJobs: boolean): void;
  /** Waits until everything has been told: the process may end then. */
  flush(): Promise<void>;
}

/** Makes this process report to the supervisor that has started it, and end with it. */
export function joinSupervisor(clock: Clock): ToSupervisor {
  // It was killed before this: nobody would be told of it any more.
  if (!process.connected) process.exit(EXIT.FAILED);
  // As if it were told to end; while there is nothing to be ended in good order, that ends it at once.
  process.once('disconnect', () => process.kill(process.pid, REPLACE_SIGNAL));
  const loaded = new Map<string, Report>();
  let isTelling = false;
  let lastTold: Promise<unknown> = Promise.resolve();
  const tell = (report: Report) => {
    // Without a callback, a supervisor that is gone would be an exception that nobody catches.
    lastTold = new Promise((resolve) => process.send?.(report, undefined, undefined, resolve));
  };
  const loads = (file: string, fingerprint: string) => {
    if (loaded.has(file)) return;
    const report: Report = { told: 'loads', file, fingerprint };
    loaded.set(file, report);
    if (isTelling) tell(report);
  };
  const flushImports = onImport(loads);
  onRequire(loads);
  return {
    watch: (files) => {
      if (!isTelling) for (const report of loaded.values()) tell(report);
      isTelling = true;
      for (const file of files) loads(file, fingerprintOf(file));
    },
    serves: (losesJobs) => tell({ told: 'serves', losesJobs }),
    flush: async () => {
      await withDeadline(
        clock,
        FLUSH_LIMIT_MS,
        flushImports().then(() => lastTold),
      );
    },
  };
}

type Loads = (file: string, fingerprint: string) => void;

/** Returns what waits for the imports so far to be known: Node resolves them on a thread of its own. */
function onImport(loads: Loads): () => Promise<void> {
  const { port1: port, port2: hookPort } = new MessageChannel();
  let flushed = () => {};
  port.on('message', (message: unknown) => {
    if (message === FLUSHED) return flushed();
    const report = readReport(message);
    if (report?.told === 'loads') loads(report.file, report.fingerprint);
  });
  port.unref();
  const data: HookData = { port: hookPort, supervisorPid: process.ppid, endLimitMs: END_LIMIT_MS };
  register('./module-hook.js', import.meta.url, { data, transferList: [hookPort] });
  return () =>
    new Promise((resolve) => {
      flushed = resolve;
      port.postMessage('flush');
    });
}

/** Hooks do not see what CommonJS modules require. */
function onRequire(loads: Loads): void {
  const { extensions } = createRequire(import.meta.url);
  for (const [extension, load] of Object.entries(extensions))
    extensions[extension] = (module, file) => {
      if (isEdited(file)) loads(file, fingerprintOf(file));
      return load?.(module, file);
    };
}

/**
 * Loads an application and watches the modules of its thread processors. The import hook of this thread does not see those imports.
 * @throws MillraceError `APP_INVALID`.
 */
export async function loadWatched(file: string, supervisor: ToSupervisor): Promise<App> {
  const given = await loadApp(file);
  return defineApp((services) => {
    const parts = typeof given === 'function' ? given(services) : given;
    // resolveApp rejects an invalid application later.
    const processors = Array.isArray(parts?.processors) ? parts.processors : [];
    const modules = processors.map((processor) => String(processor?.thread?.module));
    supervisor.watch(modules.filter((module) => module.startsWith('file:')).map((url) => fileURLToPath(url)));
    return parts;
  });
}
