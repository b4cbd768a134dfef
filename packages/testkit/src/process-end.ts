const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const cleanUps = new Set<() => void>();

/**
 * Runs a clean-up when this process ends: at `exit` (also after an uncaught error) and on SIGINT, SIGTERM and
 * SIGHUP. SIGKILL cannot be caught; what must not survive it is spawned with a parent-death signal.
 *
 * The hooks are there only while something is registered. When the process has its own handler for a signal, that
 * handler decides whether it ends, and the clean-ups wait for `exit`.
 *
 * @returns a function that takes the registration back.
 */
export function atProcessEnd(cleanUp: () => void): () => void {
  if (cleanUps.size === 0) install();
  cleanUps.add(cleanUp);
  return () => {
    if (cleanUps.delete(cleanUp) && cleanUps.size === 0) uninstall();
  };
}

function install(): void {
  process.on('exit', runAll);
  // First in line, to see who else listens: a `once` handler is off the list by the time the next one runs.
  for (const signal of SIGNALS) process.prependListener(signal, onSignal);
}

function uninstall(): void {
  process.off('exit', runAll);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  runAll();
  // With our listener gone the signal has its default effect, and the parent sees the true cause of death.
  process.kill(process.pid, signal);
}

function runAll(): void {
  for (const cleanUp of [...cleanUps].reverse()) {
    try {
      cleanUp();
    } catch (error) {
      // One clean-up that fails must not keep the others from running.
      process.stderr.write(`testkit: clean-up at process end failed: ${String(error)}\n`);
    }
  }
  cleanUps.clear();
  uninstall();
}
