// Plain Node: this runs before anything is installed.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The path of an installed command-line tool. */
export const tool = (name) => join(root, 'node_modules', '.bin', name);

/**
 * The environment of TypeScript. It is written in Go and ends before its garbage needs to be collected: up to 2 GB of it a build takes an eighth, a check a
 * quarter less CPU.
 */
export const COMPILER = { GOGC: 'off', GOMEMLIMIT: '2GiB' };

/**
 * Runs a command to its end. `live` passes its output through as it comes; otherwise it is collected.
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

/** Runs a command and ends this program with its exit code when it fails. */
export async function runOrExit(command, args, options) {
  const { code, output } = await run(command, args, options);
  if (code === 0) return;
  process.stderr.write(output);
  process.exit(code);
}
