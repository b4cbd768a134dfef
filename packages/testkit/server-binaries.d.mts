/** A program of the system that tests start. */
export type ServerBinaryName = 'redis-server' | 'postgres' | 'initdb' | 'curl' | 'chromium';
export const DEBIAN_PACKAGES: Readonly<Record<ServerBinaryName, string>>;
export type ServerBinaries = Readonly<Record<ServerBinaryName, string | undefined>>;
export function findServerBinaries(folders?: readonly string[]): ServerBinaries;
