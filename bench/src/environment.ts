import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, release, totalmem, type } from 'node:os';
import { findBinary, type ServerBinaryName } from '@millrace/testkit';
import type { Machine } from './report/model.js';

const UNKNOWN = 'unknown';

/** What a command answers, or nothing when it cannot be run here. */
function answerOf(command: string, args: readonly string[]): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}

function versionOf(server: ServerBinaryName, pattern: RegExp): string {
  try {
    return pattern.exec(answerOf(findBinary(server), ['--version']))?.[1] ?? UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

/** The name that a distribution gives itself. */
function distribution(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? type();
  } catch {
    return type();
  }
}

/** The machine and the programs of the system that everything runs on. */
export const machine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? UNKNOWN,
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  os: `${distribution()}, ${type()} ${release()}, ${arch()}`,
  node: process.version,
  redis: versionOf('redis-server', /v=(\S+)/),
  postgres: versionOf('postgres', /\) (\S+)/),
});

/** Which code is measured. The documents do not count: writing them must not make the next run one of changed code. */
export function commit(): string {
  const name = answerOf('git', ['rev-parse', '--short=10', 'HEAD']);
  if (name === '') return UNKNOWN;
  const changes = answerOf('git', ['status', '--porcelain', '--', '.', ':!docs']);
  return changes === '' ? name : `${name} with changes`;
}
