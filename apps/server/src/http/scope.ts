import { formatScopedId, type MillraceError, parseScopedId } from '@millrace/foundation';
import type { Caller } from '../security/caller.js';

/**
 * An id of a request as the parts take it (`tenant/id`). A plain one is in the caller's own namespace; another tenant's is as
 * unknown to a key that is limited to one as an id that never was.
 * @param id - plain, or `tenant/id`.
 * @param notFound - makes the error that says there is none of this id.
 * @throws what `notFound` makes; MillraceError `ID_INVALID`.
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

/** An id as its caller writes it: a key that is limited to a tenant never sees the namespace. */
export const shownId = ({ tenant }: Pick<Caller, 'tenant'>, id: string): string =>
  tenant !== undefined && id.startsWith(`${tenant}/`) ? id.slice(tenant.length + 1) : id;
