/** A Map that forgets what was set longest ago when it has too many entries. */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    super();
    this.#entriesMax = entriesMax;
  }

  /** Sets an entry; it is the latest one then. */
  override set(key: K, value: V): this {
    super.delete(key);
    super.set(key, value);
    if (this.size > this.#entriesMax) {
      const [oldest] = this.keys();
      super.delete(oldest as K);
    }
    return this;
  }
}
