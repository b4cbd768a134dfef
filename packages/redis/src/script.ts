import { createHash } from 'node:crypto';
import { LuaFiles } from './assembler/lua-files.js';
import type { RedisArgument } from './connection.js';

/** The values of a script's keys or arguments by name. A name that ends in `...` takes a list. */
export type ScriptInputs<N extends string, V> = {
  readonly [P in N as P extends `${infer Base}...` ? Base : P]: P extends `${string}...` ? readonly V[] : V;
};

/** The keys and arguments of one call. */
export interface ScriptInput<K extends string, A extends string> {
  readonly keys: ScriptInputs<K, string>;
  readonly args: ScriptInputs<A, RedisArgument>;
}

/** The declaration of one Lua file. `compareHeader` checks that the file's header says the same. */
export interface ScriptDeclaration<K extends string = string, A extends string = string, R = unknown> {
  /** The file's name without `.lua`. */
  readonly name: string;
  /** `new URL('../lua/verb.lua', import.meta.url)`, which is right in src and in dist. */
  readonly file: URL;
  /** Searched for `-- include: name` before this package's own lua folder. */
  readonly includeFolder?: URL | undefined;
  /** The names of KEYS in order. The last may end in `...` and take many. */
  readonly keys: readonly K[];
  /** The names of ARGV in order. The last may end in `...` and take many. */
  readonly args: readonly A[];
  /** The reply, in the words of the file's header. */
  readonly returns: string;
  /** Turns the raw reply into the result of `run`. */
  readonly decode: (reply: unknown) => R;
}

/** A declaration with any keys, arguments and reply. */
export type AnyScriptDeclaration = ScriptDeclaration<string, string, unknown>;

/** A script with the keys and arguments of one call, to be sent alone or in a pipeline. */
export interface ScriptCall<R = unknown> {
  readonly script: { readonly name: string; readonly source: string; readonly sha: string };
  /** The number of keys, the keys, the arguments: the parameters of EVAL and EVALSHA after the script. */
  readonly parameters: readonly RedisArgument[];
  readonly decode: (reply: unknown) => R;
}

/** Executes script calls: a RedisConnection, or a test's own. */
export interface ScriptRunner {
  /** Executes one call. Repeats it after a lost connection until the deadline. */
  run<R>(call: ScriptCall<R>, options?: { readonly timeoutMs?: number | undefined }): Promise<R>;
}

/** A script that has been read and can be run. */
export interface Script<K extends string = string, A extends string = string, R = unknown> {
  readonly declaration: ScriptDeclaration<K, A, R>;
  readonly name: string;
  /** The text that is sent to Redis, with its includes. */
  readonly source: string;
  readonly sha: string;
  /** Binds keys and arguments, for `connection.pipeline`. */
  call(input: ScriptInput<K, A>): ScriptCall<R>;
  /** Runs the script. Throws what `RedisConnection.run` throws. */
  run(
    runner: ScriptRunner,
    input: ScriptInput<K, A> & { readonly timeoutMs?: number | undefined },
  ): Promise<R>;
}

/** Options of the loader, for tests. */
export interface LoadOptions {
  /** Sources that replace included files, by name: a test's `now` that reads a test key. */
  readonly includes?: Readonly<Record<string, string>> | undefined;
}

/** The scripts of a set of declarations, by the same names. */
export type LoadedScripts<D extends Readonly<Record<string, AnyScriptDeclaration>>> = {
  readonly [P in keyof D]: D[P] extends ScriptDeclaration<infer K, infer A, infer R>
    ? Script<K, A, R>
    : never;
};

/**
 * Declares a Lua script with typed keys, arguments and reply. Every script must be repeatable, because it is sent again
 * when the connection is lost before its reply.
 */
export function defineScript<const K extends string, const A extends string, R>(
  declaration: ScriptDeclaration<K, A, R>,
): ScriptDeclaration<K, A, R> {
  return Object.freeze(declaration);
}

/**
 * Reads the files of declared scripts, all at once, because a release that is installed over this one replaces them. A
 * script is assembled on its first use: all fifty of a store take 0.1 s, and a process needs ten.
 * @throws MillraceError `REDIS_SCRIPT_INVALID` if a file or an include is missing.
 */
export function loadScripts<const D extends Readonly<Record<string, AnyScriptDeclaration>>>(
  declarations: D,
  options: LoadOptions = {},
): LoadedScripts<D> {
  const files = new LuaFiles(options.includes);
  const loaded = Object.entries(declarations).map(([name, declaration]) => [name, load(declaration, files)]);
  return Object.freeze(Object.fromEntries(loaded));
}

function load(declaration: ScriptDeclaration, files: LuaFiles): Script {
  const { name, file, includeFolder, keys, args, decode } = declaration;
  const assemble = files.read(file, includeFolder);
  let assembled: ScriptCall['script'] | undefined;
  const script = () => {
    assembled ??= withSha(name, assemble());
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

const withSha = (name: string, source: string): ScriptCall['script'] => ({
  name,
  source,
  sha: createHash('sha1').update(source).digest('hex'),
});

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
