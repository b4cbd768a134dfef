import { ERRORS, printable } from './errors.js';

/** The tenant of work that belongs to no tenant. */
export const NO_TENANT = '';

/** An id chosen by a caller, in the namespace of its tenant. */
export interface ScopedId {
  readonly tenant: string;
  readonly id: string;
}

const SEPARATOR = '/';

/**
 * Returns the stored form of an id, `tenant/id`, so that the ids of two tenants never collide.
 * @throws MillraceError `ID_INVALID` if the id is empty or either part contains a `/`.
 */
export function formatScopedId({ tenant, id }: ScopedId): string {
  checkPart('tenant', tenant, 'a text without /');
  if (id === '') throw invalid('id', 'a text of at least one character without /', id);
  checkPart('id', id, 'a text of at least one character without /');
  return tenant + SEPARATOR + id;
}

/**
 * Reads an id as a caller writes it: `id` in the caller's own namespace, or `tenant/id`.
 * @throws MillraceError `ID_INVALID` if the id is empty or contains more than one `/`.
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
