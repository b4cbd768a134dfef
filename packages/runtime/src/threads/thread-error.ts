/** What `run-task.cts` makes of something that was thrown in a thread. */
export type PackedError =
  | { readonly thrown: unknown }
  | {
      readonly name: string;
      readonly message: string;
      readonly stack: string;
      readonly own: Readonly<Record<string, unknown>>;
      readonly cause?: PackedError;
    };

const KINDS: Readonly<Record<string, ErrorConstructor>> = {
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

/**
 * Makes the error of a thread an error here: same name, message, code, stack, own properties and causes. It is an
 * instance of the language's own class of that name, else of Error; a class of the user's own stays in the thread.
 */
export function unpackError(packed: PackedError): unknown {
  if ('thrown' in packed) return packed.thrown;
  const { name, message, stack, own, cause } = packed;
  const Kind = (Object.hasOwn(KINDS, name) && KINDS[name]) || Error;
  const error = new Kind(message, cause ? { cause: unpackError(cause) } : undefined);
  const hidden = { configurable: true, writable: true };
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name, ...hidden });
  Object.defineProperty(error, 'stack', { value: stack, ...hidden });
  return Object.assign(error, own);
}
