import type { ChangesEvent, ChangesSnapshot } from '@millrace/contract';
import { shownId } from '../http/tenant-scope.js';
import type { Caller } from '../security/caller.js';
import { type Change, ChangeSet } from './change-set.js';

/** What waits for one client at most; beyond it the client is told to look at everything again. */
const PENDING_MAX = 500;

/** One client: what it has not been told yet. While it does not read, more comes to that and nothing is queued. */
export class ChangeListener {
  readonly #tenant: string | undefined;
  readonly #pending = new ChangeSet(PENDING_MAX);
  #snapshot: ChangesSnapshot | undefined;
  #wake: () => void = () => {};

  /** @param caller - hears of its tenant only, where it has one. */
  constructor({ tenant }: Pick<Caller, 'tenant'>) {
    this.#tenant = tenant;
  }

  /** Whether it is told how everything stands: that belongs to all tenants. */
  get seesAll(): boolean {
    return this.#tenant === undefined;
  }

  /**
   * Something has changed.
   * @param snapshot - undefined: it is as it was.
   */
  tell(changed: ChangeSet, snapshot: ChangesSnapshot | undefined): void {
    this.#pending.addAll(changed, this.#tenant);
    if (this.seesAll && snapshot) this.#snapshot = snapshot;
    if (this.#hasNews()) this.#wake();
  }

  /**
   * Waits until there is something to tell.
   * @returns false when the signal has aborted.
   */
  async changed(signal: AbortSignal): Promise<boolean> {
    if (!this.#hasNews() && !signal.aborted)
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#wake = wake;
        signal.addEventListener('abort', wake, { once: true });
      });
    return !signal.aborted;
  }

  /** Everything that the client has not been told yet. */
  take(at: Date): ChangesEvent {
    const shown = ({ id }: Change) => shownId({ tenant: this.#tenant }, id);
    const event: ChangesEvent = {
      at: at.toISOString(),
      groups: this.#pending.of('groups').map((group) => ({ id: shown(group), status: group.status ?? '' })),
      batches: this.#pending.of('batches').map(shown),
      operations: this.#pending.of('operations').map(shown),
      deadLetters: this.#pending.hasDeadLetters,
      more: this.#pending.more,
      snapshot: this.#snapshot ?? null,
    };
    this.#pending.clear();
    this.#snapshot = undefined;
    return event;
  }

  #hasNews(): boolean {
    return !this.#pending.isEmpty || this.#snapshot !== undefined;
  }
}
