// Plain Node: this runs before anything is installed.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The path of an installed command-line tool. */
export const tool = (name) => join(root, 'node_modules', '.bin', name);

/** The environment of TypeScript, which is written in Go. Without garbage collection up to 2 GB a build takes 12 % less CPU, a check 25 %. */
export const COMPILER = { GOGC: 'off', GOMEMLIMIT: '2GiB' };

/**
 * Runs a command to its end. `live` passes its output through. Otherwise it is returned.
 * @returns {Promise<{ code: number, output: string }>}
 */
export function run(command, args, { live = false, env, cwd = root } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: live ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('error', (error) => resolve({ code: 127, output: `${output}${error.message}\n` }));
    child.on('close', (code, signal) =>
      resolve({ code: code ?? 1, output: signal ? `${output}${signal}\n` : output }),
    );
  });
}

/** Runs a command. If it fails, prints its output and ends this program with its exit code. */
export async function runOrExit(command, args, options) {
  const { code, output } = await run(command, args, options);
  if (code === 0) return;
  process.stderr.write(output);
  process.exit(code);
}

/** The address that a server prints when it has started. @throws Error with its output if it prints none within a minute. */
export async function addressOf({ stderr }) {
  const late = setTimeout(() => stderr.destroy(), 60_000);
  let output = '';
  for await (const line of createInterface({ input: stderr })) {
    output += `${line}\n`;
    const url = /serves (http:\S+)/.exec(line)?.[1];
    if (!url) continue;
    clearTimeout(late);
    stderr.resume();
    return url;
  }
  throw new Error(`millrace start served nothing\n${output}`);
}
