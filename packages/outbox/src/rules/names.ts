import { printable } from '@millrace/foundation';

const DAG_NAME_LENGTH_MAX = 100;
const TASK_KEY_LENGTH_MAX = 200;

/** Maximum length of a name in a message. */
const SHOWN_CHARACTERS_MAX = 60;

// With the flag `u` only a lone surrogate matches. PostgreSQL stores neither it nor NUL.
const UNWANTED = /[\p{Cc}\p{Surrogate}]/u;

/** Shortens a name for a message and escapes what would break its line. */
export function shown(name: unknown): string {
  if (typeof name !== 'string') return printable(name);
  const cut = name.length > SHOWN_CHARACTERS_MAX ? `${name.slice(0, SHOWN_CHARACTERS_MAX - 1)}…` : name;
  // Escapes control characters, and half a surrogate pair that the cut has left.
  return UNWANTED.test(cut) ? JSON.stringify(cut).slice(1, -1) : cut;
}

/** Returns `shown(name)` in quotes. */
export const quoted = (name: unknown): string => `'${shown(name)}'`;

/** Returns what the name of a DAG must be, or undefined if `name` is that. */
export const dagNameProblem = (name: unknown): string | undefined =>
  // A dot would end it in `dag.key`, a slash in a URL.
  isName(name, DAG_NAME_LENGTH_MAX) && !/[./]/.test(name)
    ? undefined
    : `its name must be 1 to ${DAG_NAME_LENGTH_MAX} characters, without '.', '/' and control characters`;

/** Returns what the key of a task must be, or undefined if `key` is that. */
export const taskKeyProblem = (key: unknown): string | undefined =>
  isName(key, TASK_KEY_LENGTH_MAX) && !key.includes('/')
    ? undefined
    : `the key of a task must be 1 to ${TASK_KEY_LENGTH_MAX} characters, without '/' and control characters, got ${quoted(key)}`;

const isName = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length >= 1 && value.length <= max && !UNWANTED.test(value);

/** Names the handler of a task, for all versions of its DAG: `dag.key`. */
export const handlerName = (dag: string, key: string): string => `${dag}.${key}`;

/** Splits the name of a handler. Returns undefined if it has no dot. */
export function parseHandlerName(name: string): { readonly dag: string; readonly key: string } | undefined {
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : { dag: name.slice(0, dot), key: name.slice(dot + 1) };
}
