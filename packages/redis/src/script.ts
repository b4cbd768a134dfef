import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ERRORS } from './errors.js';
import type { RedisArgument } from './links.js';
import { assembleScript, piecesOf } from './rules/assemble-script.js';

/** The values of a script's keys or arguments by name; a name that ends in `...` takes a list. */
export type ScriptInputs<N extends string, V> = {
  readonly [P in N as P extends `${infer Base}...` ? Base : P]: P extends `${string}...` ? readonly V[] : V;
};

/** What a script is called with. */
export interface ScriptInput<K extends string, A extends string> {
  readonly keys: ScriptInputs<K, string>;
  readonly args: ScriptInputs<A, RedisArgument>;
}

/** One Lua file, said in TypeScript; `compareHeader` proves that the file says the same. */
export interface ScriptDeclaration<K extends string = string, A extends string = string, R = unknown> {
  /** The verb: the file's name without `.lua`. */
  readonly name: string;
  /** `new URL('../lua/verb.lua', import.meta.url)`: the same from src and from dist. */
  readonly file: URL;
  /** Where `-- include: name` looks first; what is not there comes from this package's own lua folder. */
  readonly includeFolder?: URL | undefined;
  /** The names of KEYS in their order; the last may end in `...` and take many. */
  readonly keys: readonly K[];
  /** The names of ARGV in their order; the last may end in `...` and take many. */
  readonly args: readonly A[];
  /** What comes back, in the words of the file's header. */
  readonly returns: string;
  /** Turns the raw reply into what `run` resolves with. */
  readonly decode: (reply: unknown) => R;
}

/** A declaration whatever its keys, arguments and reply are. */
export type AnyScriptDeclaration = ScriptDeclaration<string, string, unknown>;

/** A script with the keys and arguments of one call, ready to be sent alone or in a pipeline. */
export interface ScriptCall<R = unknown> {
  readonly script: { readonly name: string; readonly source: string; readonly sha: string };
  /** The number of keys, the keys, the arguments: what follows the script in EVAL and EVALSHA. */
  readonly parameters: readonly RedisArgument[];
  readonly decode: (reply: unknown) => R;
}

/** Whatever can execute a script call: a RedisConnection, or a test's own. */
export interface ScriptRunner {
  /** Executes one call; repeats it after a lost connection until the deadline. */
  run<R>(call: ScriptCall<R>, options?: { readonly timeoutMs?: number | undefined }): Promise<R>;
}

/** A script that has been read and can be run. */
export interface Script<K extends string = string, A extends string = string, R = unknown> {
  readonly declaration: ScriptDeclaration<K, A, R>;
  readonly name: string;
  /** The text that goes to Redis: includes put in, functions of theirs that it does not need left out. */
  readonly source: string;
  readonly sha: string;
  /** Binds keys and arguments, for `connection.pipeline`. */
  call(input: ScriptInput<K, A>): ScriptCall<R>;
  /** Runs the script; see `RedisConnection.run` for what it throws. */
  run(
    runner: ScriptRunner,
    input: ScriptInput<K, A> & { readonly timeoutMs?: number | undefined },
  ): Promise<R>;
}

/** What a test may give the loader. */
export interface LoadOptions {
  /** Sources that stand in for included files, by name: a test's `now` that reads a test key. */
  readonly includes?: Readonly<Record<string, string>> | undefined;
}

/** The scripts of a set of declarations, by the same names. */
export type LoadedScripts<D extends Readonly<Record<string, AnyScriptDeclaration>>> = {
  readonly [P in keyof D]: D[P] extends ScriptDeclaration<infer K, infer A, infer R>
    ? Script<K, A, R>
    : never;
};

/** This package's own included files: `now`, `mark`. */
export const STANDARD_INCLUDES = new URL('../lua/', import.meta.url);

/**
 * Declares a Lua script with typed keys, arguments and reply. Every script must be repeatable: it is sent again when
 * the connection is lost before its reply.
 * @param declaration - name, file, keys, arguments, reply.
 * @returns the declaration, for `loadScripts`.
 */
export function defineScript<const K extends string, const A extends string, R>(
  declaration: ScriptDeclaration<K, A, R>,
): ScriptDeclaration<K, A, R> {
  return Object.freeze(declaration);
}

/**
 * Makes scripts of their declarations. The files of each are read when it is used for the first time: all fifty of a store take 0.1 s, and a process needs ten.
 * @param declarations - by the names they are to be called by.
 * @param options - replacements for included files; only tests have them.
 * @returns the scripts by the same names; one whose file or include is missing throws MillraceError `REDIS_SCRIPT_INVALID` when it is used.
 */
export function loadScripts<const D extends Readonly<Record<string, AnyScriptDeclaration>>>(
  declarations: D,
  options: LoadOptions = {},
): LoadedScripts<D> {
  const read = pieceReader();
  const loaded = Object.entries(declarations).map(([name, declaration]) => [
    name,
    load(declaration, options, read),
  ]);
  return Object.freeze(Object.fromEntries(loaded));
}

function load(declaration: ScriptDeclaration, options: LoadOptions, read: PieceReader): Script {
  const { name, keys, args, decode } = declaration;
  let assembled: ScriptCall['script'] | undefined;
  const script = () => {
    assembled ??= identified(name, sourceOf(declaration, options, read));
    return assembled;
  };
  const call = (input: ScriptInput<string, string>): ScriptCall => {
    const keyList = inOrder(keys, input.keys);
    return {
      script: script(),
      parameters: [keyList.length, ...keyList, ...inOrder(args, input.args)],
      decode,
    };
  };
  return Object.freeze({
    declaration,
    name,
    get source() {
      return script().source;
    },
    get sha() {
      return script().sha;
    },
    call,
    run: (runner: ScriptRunner, input: ScriptInput<string, string> & { timeoutMs?: number | undefined }) =>
      runner.run(call(input), { timeoutMs: input.timeoutMs }),
  });
}

const identified = (name: string, source: string): ScriptCall['script'] => ({
  name,
  source,
  sha: createHash('sha1').update(source).digest('hex'),
});

function sourceOf(
  { file, includeFolder }: ScriptDeclaration,
  { includes = {} }: LoadOptions,
  read: PieceReader,
): string {
  const folders = includeFolder ? [includeFolder, STANDARD_INCLUDES] : [STANDARD_INCLUDES];
  const invalid = (reason: string) => ERRORS.create('REDIS_SCRIPT_INVALID', { file: file.pathname, reason });
  const own = read(file);
  if (!own) throw invalid('there is no such file');
  return assembleScript(own, (wanted) => {
    const replacement = includes[wanted];
    if (replacement !== undefined) return piecesOf(replacement);
    for (const folder of folders) {
      const found = read(new URL(`${wanted}.lua`, folder));
      if (found) return found;
    }
    throw invalid(`there is no include ${wanted}`);
  });
}

function inOrder(
  names: readonly string[],
  given: Readonly<Record<string, RedisArgument | readonly RedisArgument[]>>,
): RedisArgument[] {
  const list: RedisArgument[] = [];
  for (const name of names) {
    if (name.endsWith('...')) {
      for (const value of given[name.slice(0, -3)] as readonly RedisArgument[]) list.push(value);
    } else list.push(given[name] as RedisArgument);
  }
  return list;
}

/** Reads each file once, in pieces; undefined where there is none. */
type PieceReader = (file: URL) => ReturnType<typeof piecesOf> | undefined;

function pieceReader(): PieceReader {
  const known = new Map<string, ReturnType<PieceReader>>();
  return (file) => {
    if (!known.has(file.href)) {
      const text = tryRead(file);
      known.set(file.href, text === undefined ? undefined : piecesOf(text));
    }
    return known.get(file.href);
  };
}

function tryRead(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
