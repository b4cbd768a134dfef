/** What something has happened to. */
export type ChangeKind = 'groups' | 'batches' | 'operations';

/** Something has happened to one of them. */
export interface Change {
  readonly kind: ChangeKind;
  /** Whose it is; '' for nobody's. */
  readonly tenant: string;
  /** As the parts give it. */
  readonly id: string;
  /** Of a group. */
  readonly status?: string | undefined;
}

/** What has changed since somebody was last told, each once, and never more than a limit: beyond it all that is known is that there is more. */
export class ChangeSet {
  readonly #max: number;
  readonly #changes = new Map<string, Change>();
  readonly #deadLetters = new Set<string>();
  #more = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether nothing has changed. */
  get isEmpty(): boolean {
    return this.#changes.size === 0 && this.#deadLetters.size === 0 && !this.#more;
  }

  /** Whether more has changed than it holds. */
  get more(): boolean {
    return this.#more;
  }

  /** Whether there are new dead letters, of anybody. */
  get hasDeadLetters(): boolean {
    return this.#deadLetters.size > 0;
  }

  /** What has changed, of one kind. */
  of(kind: ChangeKind): readonly Change[] {
    return [...this.#changes.values()].filter((change) => change.kind === kind);
  }

  /** Notes a change. */
  add(change: Change): void {
    const name = `${change.kind} ${change.id}`;
    if (this.#changes.has(name) || this.#changes.size < this.#max) this.#changes.set(name, change);
    else this.#more = true;
  }

  /** Notes that there are new dead letters. */
  addDeadLetter(tenant: string): void {
    if (this.#deadLetters.size < this.#max) this.#deadLetters.add(tenant);
    else this.#more = true;
  }

  /** Notes that more has changed than can be said. */
  addMore(): void {
    this.#more = true;
  }

  /**
   * Takes over what another one has.
   * @param tenant - only what is this one's; undefined: everything.
   */
  addAll(other: ChangeSet, tenant: string | undefined): void {
    const isFor = (owner: string) => tenant === undefined || owner === tenant;
    for (const change of other.#changes.values()) {
      // Whoever is told that there is more looks at everything again.
      if (this.#more) break;
      if (isFor(change.tenant)) this.add(change);
    }
    for (const owner of other.#deadLetters) if (isFor(owner)) this.addDeadLetter(owner);
    this.#more ||= other.#more;
  }

  /** Everything has been told. */
  clear(): void {
    this.#changes.clear();
    this.#deadLetters.clear();
    this.#more = false;
  }
}
