import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { directoryHolder } from '@millrace/postgres';
import { type Finding, finding } from '../finding.js';

/**
 * Looks at the folder of the embedded database: whether it can be written to, and who has it open. Only looks: its owner notices
 * nothing.
 * @param folder - `dataDir`, absolute.
 */
export async function lookAtDataDir(folder: string): Promise<readonly Finding[]> {
  const refused = await refusalOf(folder);
  if (refused !== undefined)
    return [
      finding('failure', 'embedded.folder', 'The data directory cannot be written to', {
        seen: `${folder}: ${refused}.`,
        action: `Make it writable for this user (chown, chmod), or name another (--data-dir, MILLRACE_DATA_DIR).`,
      }),
    ];
  const holder = directoryHolder(join(folder, 'database'));
  if (!holder) return [finding('ok', 'embedded.folder', `The data directory ${folder} can be used`)];
  return [
    finding('note', 'embedded.owner', 'The data directory is open in another process', {
      seen: `${folder} belongs to process ${holder.pid ?? '?'} on ${holder.host ?? '?'}.`,
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
