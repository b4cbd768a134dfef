/** The name of the handler of a task, in all versions of its DAG. */
export const handlerName = (dag: string, key: string): string => `${dag}.${key}`;

/**
 * Whose handler a name means.
 * @param name - `dag.key`.
 * @returns the two parts, or undefined for a name without a dot.
 */
export function parseHandlerName(name: string): { readonly dag: string; readonly key: string } | undefined {
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : { dag: name.slice(0, dot), key: name.slice(dot + 1) };
}
