import type { PGlite } from '@electric-sql/pglite';
import { ERRORS } from '../errors.js';
import { decoderOf } from '../rules/decode-value.js';

/** PGlite, loaded when it is wanted: whoever uses a server need not have it. */
async function loadPglite(): Promise<typeof PGlite> {
  try {
    return (await import('@electric-sql/pglite')).PGlite;
  } catch (cause) {
    throw ERRORS.create('DRIVER_MISSING', { library: '@electric-sql/pglite' }, { cause });
  }
}

/**
 * Opens PGlite so that it takes and gives values as the other driver does.
 * @param directory - absolute; in memory unless given.
 */
export async function openPglite(directory?: string): Promise<PGlite> {
  const Driver = await loadPglite();
  const pglite = await Driver.create(directory === undefined ? 'memory://' : `file://${directory}`);
  const asIs = (text: string) => text;
  // Every type by the same rules: its own depend on which types existed when it was opened.
  pglite.parsers = byType(decoderOf);
  pglite.serializers = byType(() => asIs);
  return pglite;
}

function byType<T>(of: (type: number) => T): Record<string, T> {
  return new Proxy<Record<string, T>>({}, { get: (_, type) => of(Number(type)) });
}
