import type { GroupEvent } from '../model.js';
import type { WakeUpKind, WakeUps } from '../ports.js';
import { groupIdOf } from '../rules/ids.js';
import type { GroupStatus } from '../states.js';
import type { EngineLink } from './engine-link.js';

/** Wake-ups by markers, events by a channel: one waiting connection and one listening one per process. */
export class RedisWakeUps implements WakeUps {
  readonly #link: EngineLink;
  readonly #bells: Record<WakeUpKind, Set<() => void>> = {
    fetch: new Set(),
    work: new Set(),
    dispatch: new Set(),
    aggregate: new Set(),
  };
  readonly #waits = new Map<WakeUpKind, AbortController>();
  #stopped = false;

  /** @param link - to the engine. */
  constructor(link: EngineLink) {
    this.#link = link;
  }

  /** See WakeUps. */
  listen(kind: WakeUpKind, ring: () => void): () => void {
    const own = () => ring();
    const bells = this.#bells[kind];
    bells.add(own);
    if (!this.#waits.has(kind)) void this.#wait(kind);
    return () => {
      bells.delete(own);
      if (bells.size > 0) return;
      this.#waits.get(kind)?.abort();
      this.#waits.delete(kind);
    };
  }

  /** See WakeUps. */
  passOn(kind: WakeUpKind): void {
    const { connection, base } = this.#link;
    // A hint: whoever polls finds the work all the same.
    connection.call('LPUSH', [`${base}w:${kind}`, '1']).catch(() => {});
  }

  /** See WakeUps. */
  subscribe(listener: (event: GroupEvent) => void): () => void {
    const { connection, base } = this.#link;
    return connection.channels.subscribe(`${base}events`, (message) => listener(eventOf(message)));
  }

  /** Ends the waiting. */
  stop(): void {
    this.#stopped = true;
    for (const wait of this.#waits.values()) wait.abort();
    this.#waits.clear();
  }

  async #wait(kind: WakeUpKind): Promise<void> {
    if (this.#stopped) return;
    const { connection, base } = this.#link;
    const bells = this.#bells[kind];
    const wait = new AbortController();
    this.#waits.set(kind, wait);
    while (!wait.signal.aborted) {
      const outcome = await connection.markers.wait(`${base}w:${kind}`, { signal: wait.signal });
      if (outcome === 'aborted') break;
      if (outcome !== 'woken') continue;
      // Nobody here wants it any more: another process may.
      if (wait.signal.aborted) this.passOn(kind);
      for (const bell of [...bells]) quietly(bell);
    }
    if (this.#waits.get(kind) === wait) this.#waits.delete(kind);
  }
}

/** A bell that fails must not end the waiting of the others. */
function quietly(bell: () => void): void {
  try {
    bell();
  } catch {}
}

/** `type key round status jobId at`, as lua/records.lua tells it. */
function eventOf(message: string): GroupEvent {
  const [type, key, round, status, jobId, at] = message.split(' ') as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  return {
    type: type as GroupEvent['type'],
    groupId: groupIdOf(key),
    tenant: key.slice(0, key.indexOf('/')),
    round: Number(round),
    status: status as GroupStatus,
    ...(jobId !== '-' && { jobId }),
    at: Number(at),
  };
}
