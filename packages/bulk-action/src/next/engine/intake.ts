import { canSettle, type Settlement, settle } from './run/settle.js';
import type { EngineState } from './state/state.js';

/** What an instance has settled. */
export interface Settled {
  readonly kind: 'settled';
  readonly instanceId: string;
  readonly settlements: readonly Settlement[];
}

/**
 * Takes in the inbox in order. A settlement waits for the next commit if its side writes do not fit into this one, or for the
 * body of a new dead letter. A command for a job waits for the chunk of the job. All entries behind it wait as well. A crash
 * loses nothing, because the journal deletes only consumed entries.
 */
export class Intake<Entry extends { readonly kind: string }> {
  readonly #state: EngineState;
  readonly #receive: (entry: Entry) => boolean;
  #entries: (Entry | Settled)[] = [];
  /** Settlements of the first entry that were taken in. */
  #settled = 0;
  /** Settlements of the owner's own attempts that wait. */
  #own: Settled[] = [];
  /** Entries taken in so far. */
  consumed = 0;

  /** @param receive - takes an entry in; returns false while it must wait for a chunk. */
  constructor(state: EngineState, receive: (entry: Entry) => boolean) {
    this.#state = state;
    this.#receive = receive;
  }

  /** Reports whether anything waits. */
  get isWaiting(): boolean {
    return this.#entries.length > 0 || this.#own.length > 0;
  }

  add(entries: readonly (Entry | Settled)[]): void {
    for (const entry of entries) this.#entries.push(entry);
    this.drain();
  }

  /** Settles an attempt of the owner's own, or makes it wait. Returns whether it counts as far as is known. */
  settle(instanceId: string, settlement: Settlement): boolean {
    if (canSettle(this.#state, instanceId, settlement)) return settle(this.#state, instanceId, settlement);
    this.#own.push({ kind: 'settled', instanceId, settlements: [settlement] });
    return true;
  }

  /** Takes in as much as can be. */
  drain(): void {
    if (!this.isWaiting) return;
    this.#own = this.#own.filter(
      ({ instanceId, settlements }) => !settlements.every((each) => this.#settle(instanceId, each)),
    );
    let taken = 0;
    for (const entry of this.#entries) {
      if (!this.#take(entry)) break;
      this.#settled = 0;
      taken += 1;
    }
    this.#entries.splice(0, taken);
    this.consumed += taken;
    if (this.#entries.length > 0) this.#askAhead();
  }

  #take(entry: Entry | Settled): boolean {
    if (!isSettled(entry)) return this.#receive(entry);
    const { instanceId, settlements } = entry;
    for (; this.#settled < settlements.length; this.#settled++)
      if (!this.#settle(instanceId, settlements[this.#settled] as Settlement)) return false;
    return true;
  }

  #settle(instanceId: string, settlement: Settlement): boolean {
    if (!canSettle(this.#state, instanceId, settlement)) return false;
    settle(this.#state, instanceId, settlement);
    return true;
  }

  /** Bodies that later settlements need are loaded together with the first one. */
  #askAhead(): void {
    for (const entry of this.#entries)
      if (isSettled(entry))
        for (const settlement of entry.settlements) canSettle(this.#state, entry.instanceId, settlement);
  }
}

const isSettled = (entry: { readonly kind: string }): entry is Settled => entry.kind === 'settled';
