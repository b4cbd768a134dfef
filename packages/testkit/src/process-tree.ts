/*
 * Signals for a server and everything it forked. PostgreSQL gives each backend its own session, so no process
 * group reaches them all. Everything here is synchronous: the same code must run in an `exit` hook, where nothing
 * asynchronous is left, and each call takes milliseconds.
 */
import { isProcessGone, listProcesses, readProcess } from './process-table.js';

const SETTLE_MS = 2_000;

/**
 * Stops a process and all its descendants (SIGSTOP).
 * @throws Error when something still runs after two seconds.
 */
export function freezeTree(pid: number): void {
  // The root first: once it stands still it forks no more, and the list of its children is final.
  send(pid, 'SIGSTOP');
  if (!waitSync(() => isStill(pid))) throw new Error(`process ${pid} did not stop within ${SETTLE_MS} ms`);
  const everyoneStill = waitSync(() => {
    const running = descendants(pid).filter((child) => !isStill(child));
    for (const child of running) send(child, 'SIGSTOP');
    return running.length === 0;
  });
  if (!everyoneStill) throw new Error(`children of process ${pid} did not stop within ${SETTLE_MS} ms`);
}

/** Lets a frozen tree run on (SIGCONT), children before the root that watches them. */
export function thawTree(pid: number): void {
  for (const child of descendants(pid)) send(child, 'SIGCONT');
  send(pid, 'SIGCONT');
}

/** Kills a process and all its descendants (SIGKILL) and waits until they are gone. */
export function killTree(pid: number): void {
  if (isProcessGone(pid)) return;
  send(pid, 'SIGSTOP');
  waitSync(() => isStill(pid));
  const pids = [...descendants(pid), pid];
  for (const each of pids) send(each, 'SIGKILL');
  waitSync(() => pids.every(isProcessGone));
}

function descendants(root: number): number[] {
  const childrenOf = new Map<number, number[]>();
  for (const { pid, parentPid } of listProcesses()) {
    childrenOf.set(parentPid, [...(childrenOf.get(parentPid) ?? []), pid]);
  }
  const found: number[] = [];
  const open = [root];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const children = childrenOf.get(next) ?? [];
    found.push(...children);
    open.push(...children);
  }
  return found;
}

function isStill(pid: number): boolean {
  return isProcessGone(pid) || readProcess(pid)?.state === 'T';
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended in the meantime, which is what every caller waits for.
  }
}

function waitSync(condition: () => boolean): boolean {
  const nap = new Int32Array(new SharedArrayBuffer(4));
  const end = performance.now() + SETTLE_MS;
  while (!condition()) {
    if (performance.now() > end) return false;
    Atomics.wait(nap, 0, 0, 1);
  }
  return true;
}
