import { formatScopedId, type MillraceError, parseScopedId } from '@millrace/foundation';
import type { Caller } from '../security/caller.js';
import { requestInvalid } from './request-errors.js';

/**
 * Converts an id of a request to the form of the engines (`tenant/id`). A plain id belongs to the caller's tenant. A key that is
 * limited to one tenant gets the same error for an id of another tenant as for an id that does not exist.
 * @param id - plain, or `tenant/id`.
 * @throws the error that `notFound` creates; MillraceError `ID_INVALID`.
 */
export function scopedId(
  { tenant }: Pick<Caller, 'tenant'>,
  id: string,
  notFound: (id: string) => MillraceError,
): string {
  if (tenant === undefined) return id;
  const scoped = parseScopedId(id, tenant);
  if (scoped.tenant !== tenant) throw notFound(id);
  return formatScopedId(scoped);
}

/** Removes the tenant from an id if the caller's key is limited to that tenant. */
export const shownId = ({ tenant }: Pick<Caller, 'tenant'>, id: string): string =>
  tenant !== undefined && id.startsWith(`${tenant}/`) ? id.slice(tenant.length + 1) : id;

/**
 * Returns the tenant of the caller's key, or the requested tenant if the key is not limited to one.
 * @param given - the field `tenant` of the request.
 * @throws MillraceError `REQUEST_INVALID` if a key that is limited to a tenant requests another.
 */
export function resolveTenant(
  { tenant }: Pick<Caller, 'tenant'>,
  given: string | undefined,
): string | undefined {
  if (tenant === undefined) return given;
  if (given === undefined || given === tenant) return tenant;
  throw requestInvalid([{ field: 'tenant', message: 'must be left out, or be the tenant of the key' }]);
}
