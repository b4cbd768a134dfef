import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';

interface Watched {
  /** Tells a folder from another that has come in its place. */
  readonly inode: number;
  readonly watcher: FSWatcher;
  /** What matters in it; what else is written there, such as a log, is no hint. */
  names: ReadonlySet<string>;
}

/** What a folder watch tells. */
export interface FolderHints {
  /** Something was written, replaced or removed; which it was is found by looking. */
  hint(): void;
  /** A folder cannot be watched. */
  failed(folder: string, error: unknown): void;
}

/**
 * Watches the folders of files: editors replace a file by another, and a watched file would be the old one ever after.
 * A folder that does not exist is waited for in the nearest one that does.
 */
export class FolderWatch {
  readonly #hints: FolderHints;
  readonly #watched = new Map<string, Watched>();

  constructor(hints: FolderHints) {
    this.#hints = hints;
  }

  /** Watches for these files and no others; called again after a hint, since folders come and go. */
  follow(files: readonly string[]): void {
    const wanted = namesByFolder(files);
    for (const folder of this.#watched.keys()) if (!wanted.has(folder)) this.#forget(folder);
    for (const [folder, names] of wanted) {
      const inode = inodeOf(folder);
      const watched = this.#watched.get(folder);
      if (watched && watched.inode === inode) watched.names = names;
      else {
        this.#forget(folder);
        if (inode !== undefined) this.#open(folder, inode, names);
      }
    }
  }

  /** Watches nothing any more. */
  close(): void {
    for (const folder of this.#watched.keys()) this.#forget(folder);
  }

  #open(folder: string, inode: number, names: ReadonlySet<string>): void {
    try {
      const watcher = watch(folder, (_, name) => {
        const names = this.#watched.get(folder)?.names;
        // Its own name: the folder itself is moved or removed.
        if (name === null || names?.has(name) || name === basename(folder)) this.#hints.hint();
      });
      watcher.on('error', (error) => this.#hints.failed(folder, error));
      this.#watched.set(folder, { inode, watcher, names });
    } catch (error) {
      this.#hints.failed(folder, error);
    }
  }

  #forget(folder: string): void {
    this.#watched.get(folder)?.watcher.close();
    this.#watched.delete(folder);
  }
}

/** The nearest folder of each file that exists, and what to look out for there. */
function namesByFolder(files: readonly string[]): ReadonlyMap<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const file of files) {
    let folder = dirname(file);
    while (inodeOf(folder) === undefined && folder !== dirname(folder)) folder = dirname(folder);
    const [name = ''] = relative(folder, file).split(sep);
    names.set(folder, (names.get(folder) ?? new Set()).add(name));
  }
  return names;
}

function inodeOf(folder: string): number | undefined {
  try {
    const stats = statSync(folder);
    return stats.isDirectory() ? stats.ino : undefined;
  } catch {
    return undefined;
  }
}
