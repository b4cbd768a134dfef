import { execFileSync, spawn } from 'node:child_process';
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

/** Starts a Node program. Returns it with its first line of output and its ending: the exit code, or the signal. */
export async function startProgram(program: string, ...args: string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as string | number);
  const tooEarly = ended.then((ending) => {
    throw new Error(`${program} ${args} ended with ${ending} before it printed a line`);
  });
  const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), tooEarly])) as [string];
  return { child, ended, line };
}

/** The processes that work in a folder: a server and its children. */
export function processesIn(folder: string): number[] {
  return listProcesses()
    .filter(({ pid, state }) => state !== 'Z' && workingDirectory(pid)?.startsWith(folder))
    .map(({ pid }) => pid);
}
