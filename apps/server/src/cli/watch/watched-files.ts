/** More than an application has; watching them costs memory and looks at every change. */
export const FILES_MAX = 5_000;

/** A file as a server has loaded it. */
interface Loaded {
  fingerprint: string;
  /** Which server has loaded it: they are counted. */
  readonly server: number;
}

/** The files that matter to the server that runs, and what they held when it loaded them. */
export class WatchedFiles {
  readonly #loaded = new Map<string, Loaded>();
  #server = 0;

  get files(): readonly string[] {
    return [...this.#loaded.keys()];
  }

  /** Another server starts. It may fail before it loads anything, so the files of the last one matter until it serves. */
  begin(): void {
    this.#server++;
  }

  /** The server serves: it has loaded all it needs. */
  serves(): void {
    for (const [file, { server }] of this.#loaded) if (server !== this.#server) this.#loaded.delete(file);
  }

  /**
   * The server loads a file.
   * @returns false when it is one too many, and is not watched.
   */
  loads(file: string, fingerprint: string): boolean {
    if (!this.#loaded.has(file) && this.#loaded.size >= FILES_MAX) return false;
    this.#loaded.set(file, { fingerprint, server: this.#server });
    return true;
  }

  /** Finds the files that hold something else than the server has loaded; each change is found once. */
  changed(look: (file: string) => string): readonly string[] {
    const changed: string[] = [];
    for (const [file, loaded] of this.#loaded) {
      const fingerprint = look(file);
      if (fingerprint === loaded.fingerprint) continue;
      loaded.fingerprint = fingerprint;
      changed.push(file);
    }
    return changed;
  }
}
