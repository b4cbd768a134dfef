import { readFileSync } from 'node:fs';
import { ERRORS } from '../errors.js';
import { assembleScript, includesOf, piecesOf } from './assemble-script.js';

/** This package's own included files: `now`, `mark`. */
export const STANDARD_INCLUDES = new URL('../../lua/', import.meta.url);

/** The Lua files of a set of scripts. Each is read once, and split into pieces once if a script needs it. */
export class LuaFiles {
  readonly #texts = new Map<string, string | undefined>();
  readonly #pieces = new Map<string, ReturnType<typeof piecesOf>>();

  /** @param includes - sources that replace included files, by name. */
  constructor(private readonly includes: Readonly<Record<string, string>> = {}) {}

  /**
   * Reads a script's own file and all files that it includes. Returns a function that assembles them.
   * @param includeFolder - searched for includes before the standard ones.
   * @throws MillraceError `REDIS_SCRIPT_INVALID` if a file is missing.
   */
  read(file: URL, includeFolder: URL | undefined): () => string {
    const required = (text: string | undefined, missing: string): string => {
      if (text !== undefined) return text;
      throw ERRORS.create('REDIS_SCRIPT_INVALID', { file: file.pathname, reason: `there is no ${missing}` });
    };
    const included = new Map<string, string>();
    const visit = (text: string) => {
      for (const name of includesOf(text)) {
        if (included.has(name)) continue;
        const include = required(this.#includeOf(name, includeFolder), `include ${name}`);
        included.set(name, include);
        visit(include);
      }
    };
    const own = required(this.#textOf(file), 'such file');
    visit(own);
    return () => assembleScript(this.#piecesOf(own), (name) => this.#piecesOf(included.get(name) ?? ''));
  }

  #includeOf(name: string, includeFolder: URL | undefined): string | undefined {
    const inFolder = (folder: URL) => this.#textOf(new URL(`${name}.lua`, folder));
    return this.includes[name] ?? (includeFolder && inFolder(includeFolder)) ?? inFolder(STANDARD_INCLUDES);
  }

  #textOf(file: URL): string | undefined {
    if (!this.#texts.has(file.href)) this.#texts.set(file.href, tryRead(file));
    return this.#texts.get(file.href);
  }

  #piecesOf(text: string): ReturnType<typeof piecesOf> {
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
