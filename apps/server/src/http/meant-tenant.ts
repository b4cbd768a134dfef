import type { Caller } from '../security/caller.js';
import { requestInvalid } from './request-invalid.js';

/**
 * The tenant that a request means: that of its key; with a key that is not limited to one, the one it names.
 * @param given - the field `tenant` of the request.
 * @returns undefined where a key that is not limited names none.
 * @throws MillraceError `REQUEST_INVALID` when a key that is limited to a tenant names another.
 */
export function meantTenant(
  { tenant }: Pick<Caller, 'tenant'>,
  given: string | undefined,
): string | undefined {
  if (tenant === undefined) return given;
  if (given === undefined || given === tenant) return tenant;
  throw requestInvalid([{ field: 'tenant', message: 'must be left out, or be the tenant of the key' }]);
}
