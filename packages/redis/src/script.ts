import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisArgument } from './connection.js';
import { ERRORS } from './errors.js';
import { assembleScript, includesOf, piecesOf } from './rules/assemble-script.js';

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
 * @returns the declaration, for `loadScripts`.
 */
export function defineScript<const K extends string, const A extends string, R>(
  declaration: ScriptDeclaration<K, A, R>,
): ScriptDeclaration<K, A, R> {
  return Object.freeze(declaration);
}

/**
 * Reads the files of declared scripts: all at once, since a release that is installed over this one replaces them. Each is put together when it is used for the
 * first time: all fifty of a store take 0.1 s, and a process needs ten.
 * @param declarations - by the names they are to be called by.
 * @param options - replacements for included files; only tests have them.
 * @returns the scripts by the same names.
 * @throws MillraceError `REDIS_SCRIPT_INVALID` when a file or an include is missing.
 */
export function loadScripts<const D extends Readonly<Record<string, AnyScriptDeclaration>>>(
  declarations: D,
  options: LoadOptions = {},
): LoadedScripts<D> {
  const files = new LuaFiles();
  const loaded = Object.entries(declarations).map(([name, declaration]) => [
    name,
    load(declaration, options, files),
  ]);
  return Object.freeze(Object.fromEntries(loaded));
}

function load(declaration: ScriptDeclaration, options: LoadOptions, files: LuaFiles): Script {
  const { name, keys, args, decode } = declaration;
  const { own, included } = textsOf(declaration, options, files);
  let assembled: ScriptCall['script'] | undefined;
  const script = () => {
    assembled ??= identified(
      name,
      assembleScript(files.pieces(own), (wanted) => files.pieces(included.get(wanted) ?? '')),
    );
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

/** The text of a script's own file, and of those that it includes, by name. */
function textsOf(
  { file, includeFolder }: ScriptDeclaration,
  { includes = {} }: LoadOptions,
  files: LuaFiles,
): { readonly own: string; readonly included: ReadonlyMap<string, string> } {
  const folders = includeFolder ? [includeFolder, STANDARD_INCLUDES] : [STANDARD_INCLUDES];
  const found = (text: string | undefined, missing: string): string => {
    if (text !== undefined) return text;
    throw ERRORS.create('REDIS_SCRIPT_INVALID', { file: file.pathname, reason: `there is no ${missing}` });
  };
  const included = new Map<string, string>();
  const visit = (text: string) => {
    for (const wanted of includesOf(text)) {
      if (included.has(wanted)) continue;
      const [given] = folders.flatMap((folder) => files.read(new URL(`${wanted}.lua`, folder)) ?? []);
      const its = found(includes[wanted] ?? given, `include ${wanted}`);
      included.set(wanted, its);
      visit(its);
    }
  };
  const own = found(files.read(file), 'such file');
  visit(own);
  return { own, included };
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

/** The files of a set of scripts: each is read once, and taken apart once when somebody needs it so. */
class LuaFiles {
  readonly #texts = new Map<string, string | undefined>();
  readonly #pieces = new Map<string, ReturnType<typeof piecesOf>>();

  /** Its text; undefined where there is none. */
  read(file: URL): string | undefined {
    if (!this.#texts.has(file.href)) this.#texts.set(file.href, tryRead(file));
    return this.#texts.get(file.href);
  }

  pieces(text: string): ReturnType<typeof piecesOf> {
    const pieces = this.#pieces.get(text) ?? piecesOf(text);
    this.#pieces.set(text, pieces);
    return pieces;
  }
}

function tryRead(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
