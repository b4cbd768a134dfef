import { constants } from 'node:fs';
import { access, readdir, readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { type Finding, finding } from '../finding.js';

/** A holder whose process cannot be seen from here lives when it has touched its file within this time: see DirectoryLock. */
const SILENT_MS = 30_000;

/** Who has the database open. */
interface Holder {
  readonly pid: number;
  readonly host: string;
}

/**
 * Looks at the folder of the embedded database: whether it can be written to, and who has it open. Only looks: its owner notices
 * nothing.
 * @param folder - `dataDir`, absolute.
 * @param nowMs - the time of this machine.
 */
export async function lookAtDataDir(folder: string, nowMs: number): Promise<readonly Finding[]> {
  const refused = await refusalOf(folder);
  if (refused !== undefined)
    return [
      finding('failure', 'embedded.folder', 'The data directory cannot be written to', {
        seen: `${folder}: ${refused}.`,
        action: `Make it writable for this user (chown, chmod), or name another (--data-dir, MILLRACE_DATA_DIR).`,
      }),
    ];
  const holder = await holderOf(`${join(folder, 'database')}.lock`, nowMs);
  if (!holder) return [finding('ok', 'embedded.folder', `The data directory ${folder} can be used`)];
  return [
    finding('note', 'embedded.owner', 'The data directory is open in another process', {
      seen: `${folder} belongs to process ${holder.pid} on ${holder.host}.`,
      action:
        'That is well when it is the server that runs here. A second one is refused: give it a folder of its own (--data-dir), or share a PostgreSQL (DATABASE_URL).',
    }),
  ];
}

/** Why nothing can be written there; what does not exist yet is made in the nearest folder above that does. */
async function refusalOf(folder: string): Promise<string | undefined> {
  try {
    if (!(await stat(folder)).isDirectory()) return 'it is no folder';
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const above = dirname(folder);
    return code === 'ENOENT' && above !== folder ? refusalOf(above) : String(code);
  }
}

async function holderOf(lock: string, nowMs: number): Promise<Holder | undefined> {
  for (const name of await readdir(lock).catch(() => [])) {
    const file = join(lock, name);
    const holder = await readHolder(file);
    if (holder && (await isHeld(file, holder, nowMs))) return holder;
  }
  return undefined;
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    const { pid, host } = JSON.parse(await readFile(file, 'utf8')) as Partial<Holder>;
    return Number.isSafeInteger(pid) && typeof host === 'string' ? { pid: pid as number, host } : undefined;
  } catch {
    // Half written, or gone meanwhile.
    return undefined;
  }
}

async function isHeld(file: string, { pid, host }: Holder, nowMs: number): Promise<boolean> {
  if (host === hostname()) return isThere(pid);
  const touchedMs = await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
  return nowMs - touchedMs < SILENT_MS;
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
