import { printable } from './error-registry.js';
import { ERRORS } from './errors.js';

/** The tenant of work that belongs to nobody in particular. */
export const NO_TENANT = '';

/** A caller-chosen id in the namespace of its tenant. */
export interface ScopedId {
  readonly tenant: string;
  readonly id: string;
}

const SEPARATOR = '/';

/**
 * The stored form of an id: `tenant/id`. Two tenants that use the same id never meet.
 * @param scoped - the tenant ('' = none) and the id.
 * @returns the stored form.
 * @throws MillraceError `ID_INVALID` when the id is empty or either part contains a `/`.
 */
export function formatScopedId({ tenant, id }: ScopedId): string {
  checkPart('tenant', tenant, 'a text without /');
  if (id === '') throw invalid('id', 'a text of at least one character without /', id);
  checkPart('id', id, 'a text of at least one character without /');
  return tenant + SEPARATOR + id;
}

/**
 * Reads an id as a caller writes it: plain for the caller's own namespace, `tenant/id` for another one.
 * @param ownTenant - the caller's tenant.
 * @returns tenant and id.
 * @throws MillraceError `ID_INVALID` for an empty id or more than one `/`.
 */
export function parseScopedId(text: string, ownTenant: string): ScopedId {
  const at = text.indexOf(SEPARATOR);
  const scoped =
    at < 0 ? { tenant: ownTenant, id: text } : { tenant: text.slice(0, at), id: text.slice(at + 1) };
  formatScopedId(scoped);
  return scoped;
}

function checkPart(kind: string, part: unknown, expected: string): void {
  if (typeof part !== 'string' || part.includes(SEPARATOR)) throw invalid(kind, expected, part);
}

const invalid = (kind: string, expected: string, given: unknown) =>
  ERRORS.create('ID_INVALID', { kind, expected, given: `'${printable(given)}'` });
