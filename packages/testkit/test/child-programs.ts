import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { listProcesses, workingDirectory } from '../src/processes.js';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export const serveProgram = path('../dist/serve.js');
export const fixture = (name: string) => path(`fixtures/${name}`);

/** Builds the test kit, because child programs run from the build. A build without changes takes 0.3 s. */
export function buildDist(): void {
  execFileSync(path('../../../node_modules/.bin/tsc'), ['-b', path('../tsconfig.build.json')], {
    stdio: 'inherit',
  });
}

/** Starts a Node program and returns it with the first line that it prints, parsed. */
export async function startProgram<T>(
  program: string,
  ...args: string[]
): Promise<{ child: Child; said: T }> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as string | number);
  const firstLine = once(createInterface(child.stdout), 'line') as Promise<[string]>;
  const answer = await Promise.race([firstLine, ended]);
  if (!Array.isArray(answer)) {
    throw new Error(`${program} ${args} ended with ${answer} before it printed a line`);
  }
  return { child: { process: child, ended }, said: JSON.parse(answer[0]) as T };
}

export interface Child {
  readonly process: ChildProcess;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<string | number>;
}

/** The processes that work in a folder: a server and its children. */
export function processesIn(folder: string): number[] {
  return listProcesses()
    .filter(({ pid, state }) => state !== 'Z' && workingDirectory(pid)?.startsWith(folder))
    .map(({ pid }) => pid);
}
