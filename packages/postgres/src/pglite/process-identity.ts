import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who holds something: enough to tell later whether it is still the same process. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When the process was started, in whatever unit the system has: unmasks a pid that was given again. */
  readonly startedAt: string;
  /** Where the pid means anything: one boot of one machine, one container. */
  readonly world: string;
  readonly host: string;
}

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  return {
    pid: process.pid,
    startedAt: startedAt(process.pid) ?? '',
    world: ownWorld(),
    host: hostname(),
  };
}

/**
 * Whether a process is still there.
 * @returns undefined when that cannot be seen from here: another machine, another container, before a reboot.
 */
export function isAlive({ pid, startedAt: noted, world }: ProcessIdentity): boolean | undefined {
  if (world !== ownWorld()) return undefined;
  return startedAt(pid) === noted;
}

function ownWorld(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** Undefined when there is no such process, or only its corpse. */
function startedAt(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Behind the program's name, which may hold anything: state first, start time twentieth.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    if (process.platform === 'linux') return undefined;
  }
  try {
    const line = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { stdio: 'pipe' });
    return line.toString().trim() || undefined;
  } catch {
    return undefined;
  }
}
