import type pg from 'pg';
import { ERRORS } from '../errors.js';

/** pg, loaded when the first connection is wanted: whoever uses PGlite need not have it. */
export async function loadPg(): Promise<typeof pg> {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    throw ERRORS.create('DRIVER_MISSING', { library: 'pg' }, { cause });
  }
}
