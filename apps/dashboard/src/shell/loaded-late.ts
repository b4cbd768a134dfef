import { useEffect, useState } from 'react';

/** The page has drawn what somebody came for by then. */
const LOAD_OTHERS_AFTER_MS = 2_000;

/**
 * Things that are loaded when they are wanted, each once, and the others when there is nothing better to do. Not React.lazy: it shows for a
 * third of a second at least that something is on its way, also where it is there at once.
 */
export class LoadedLate<Id extends string, T> {
  readonly #loaders: Readonly<Partial<Record<Id, () => Promise<T>>>>;
  readonly #loaded: Map<Id, T>;
  #isLoadingOthers = false;

  constructor(
    loaders: Readonly<Partial<Record<Id, () => Promise<T>>>>,
    present: Readonly<Partial<Record<Id, T>>>,
  ) {
    this.#loaders = loaders;
    this.#loaded = new Map(Object.entries(present) as [Id, T][]);
  }

  /** What was loaded; undefined: it was not yet. */
  get(id: Id): T | undefined {
    return this.#loaded.get(id);
  }

  /**
   * Loads one; the others follow.
   * @throws what its loader throws; it is loaded again when it is wanted again.
   */
  async load(id: Id): Promise<void> {
    this.#loadOthers();
    await this.#load(id);
  }

  async #load(id: Id): Promise<void> {
    const loader = this.#loaders[id];
    if (loader && !this.#loaded.has(id)) this.#loaded.set(id, await loader());
  }

  #loadOthers(): void {
    if (this.#isLoadingOthers) return;
    this.#isLoadingOthers = true;
    const ids = Object.keys(this.#loaders) as Id[];
    setTimeout(() => void Promise.allSettled(ids.map((id) => this.#load(id))), LOAD_OTHERS_AFTER_MS);
  }
}

/**
 * One of them, drawn when it is there.
 * @returns undefined while it comes.
 * @throws what its loader threw, as a component does: a guard above says so.
 */
export function useLoadedLate<Id extends string, T>(late: LoadedLate<Id, T>, id: Id): T | undefined {
  const [failure, setFailure] = useState<{ readonly id: Id; readonly error: unknown }>();
  const [, setTurn] = useState(0);
  useEffect(() => {
    let isWanted = true;
    const isThere = late.get(id) !== undefined;
    late.load(id).then(
      () => isWanted && !isThere && setTurn((turn) => turn + 1),
      (error: unknown) => isWanted && setFailure({ id, error }),
    );
    return () => {
      isWanted = false;
    };
  }, [late, id]);
  if (failure?.id === id) throw failure.error;
  return late.get(id);
}
