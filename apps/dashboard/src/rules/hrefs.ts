import { VIEWS, type ViewId } from '@millrace/contract/server-client';

/** The names in braces of a path. */
type Names<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;

/** What a view is about. */
export type ViewParams<Id extends ViewId> = Readonly<Record<Names<(typeof VIEWS)[Id]>, string>>;

type Query = Readonly<Record<string, string | undefined>>;

/**
 * The address of a view.
 * @param query - its filters; those that are undefined or empty are left out.
 */
export function hrefOf<Id extends ViewId>(
  id: Id,
  ...[params, query]: keyof ViewParams<Id> extends never
    ? [params?: undefined, query?: Query]
    : [params: ViewParams<Id>, query?: Query]
): string {
  const path = VIEWS[id].replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((params as Readonly<Record<string, string>> | undefined)?.[name] ?? ''),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value) search.set(name, value);
  return search.size > 0 ? `${path}?${search}` : path;
}

/** The props of every view. */
export interface ViewProps {
  /** Decoded parameters of the address. */
  readonly params: Readonly<Record<string, string>>;
}

/** A view and its parameters. */
export interface ViewPlace extends ViewProps {
  readonly id: ViewId;
}

const PATTERNS = Object.entries(VIEWS).map(([id, path]) => ({
  id: id as ViewId,
  pattern: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`),
}));

/** The view that an address names; undefined: there is none. */
export function viewAt(pathname: string): ViewPlace | undefined {
  for (const { id, pattern } of PATTERNS) {
    const match = pattern.exec(pathname);
    if (match) return { id, params: decodedAll(match.groups ?? {}) };
  }
  return undefined;
}

const decodedAll = (params: Readonly<Record<string, string>>): ViewPlace['params'] =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, decoded(value)]));

/** An address that somebody has broken names something that there is not, and no more. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
