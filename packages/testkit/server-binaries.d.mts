/** A program that was found nowhere, and the Debian package that holds it. */
export interface MissingBinary {
  readonly name: 'redis-server' | 'postgres' | 'initdb' | 'curl' | 'chromium';
  readonly debianPackage: 'redis-server' | 'postgresql' | 'curl' | 'chromium-headless-shell';
}

/** Full paths of the servers and the browser that the tests need; `undefined` for each one listed in `missing`. */
export interface ServerBinaries {
  readonly redisServer: string | undefined;
  readonly postgres: string | undefined;
  readonly initdb: string | undefined;
  readonly chromium: string | undefined;
  readonly missing: readonly MissingBinary[];
}

/**
 * Lists the folders searched for servers.
 * @returns PATH, then the usual places, the highest PostgreSQL version first.
 */
export function serverBinaryFolders(): string[];

/**
 * Finds the programs without starting anything.
 * @param folders - where to look, first match wins; `postgres` and `initdb` always come from one folder.
 * @returns the paths found and what is missing; never throws.
 */
export function findServerBinaries(folders?: readonly string[]): ServerBinaries;
