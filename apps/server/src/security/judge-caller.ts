import { ROLES } from '@millrace/contract';
import type { MillraceError } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { ServedRoute } from '../http/routes.js';
import type { Caller } from './caller.js';

/** What a route asks of its callers. */
export type RouteDemands = Pick<ServedRoute, 'id' | 'role' | 'tenancy'>;

const KEY_MISSING = 'An API key is needed: send it as Authorization: Bearer SECRET';

/**
 * Why a caller may not use a route; undefined when it may.
 * @param caller - who asks; undefined without a valid key.
 * @param options - `isEmbedded`: a server of one process, where the demo is no admin's matter.
 */
export function refusalOf(
  route: RouteDemands,
  caller: Caller | undefined,
  { isEmbedded }: { readonly isEmbedded: boolean },
): MillraceError | undefined {
  if (route.role === 'none') return undefined;
  if (!caller) return ERRORS.create('UNAUTHENTICATED', { reason: KEY_MISSING });
  const { name: key, role, tenant } = caller;
  const isDemo = route.id === 'startDemo' || route.id === 'stopDemo';
  const needed = isDemo && isEmbedded ? 'operate' : route.role;
  if (ROLES.indexOf(role) < ROLES.indexOf(needed)) return ERRORS.create('FORBIDDEN', { needed, key, role });
  if (tenant !== undefined && route.tenancy === 'shared')
    return ERRORS.create('TENANT_REFUSED', { key, tenant });
  return undefined;
}
