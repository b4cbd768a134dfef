import { useState } from 'react';
import { LETTER_IDS_MAX, type LetterId } from '../../rules/dead-letter-moves.js';

/** Letters that somebody has chosen, over all pages of a list. */
export interface Chosen {
  readonly ids: readonly LetterId[];
  has(id: LetterId): boolean;
  /** As many as one request can name. */
  add(ids: readonly LetterId[]): void;
  drop(ids: readonly LetterId[]): void;
  clear(): void;
}

interface Held {
  readonly of: string;
  readonly ids: ReadonlyMap<string, LetterId>;
}

const keyOf = ({ groupId, jobId }: LetterId): string => `${groupId} ${jobId}`;

/** What is chosen of a list; nothing again when another list is looked at. */
export function useChosen(of: string): Chosen {
  const [held, setHeld] = useState<Held>({ of, ids: new Map() });
  const chosen: ReadonlyMap<string, LetterId> = held.of === of ? held.ids : new Map();
  const set = (entries: readonly (readonly [string, LetterId])[]) => setHeld({ of, ids: new Map(entries) });
  return {
    ids: [...chosen.values()],
    has: (id) => chosen.has(keyOf(id)),
    add: (ids) =>
      set([...new Map([...chosen, ...ids.map((id) => [keyOf(id), id] as const)])].slice(0, LETTER_IDS_MAX)),
    drop: (ids) => {
      const dropped = new Set(ids.map(keyOf));
      set([...chosen].filter(([key]) => !dropped.has(key)));
    },
    clear: () => set([]),
  };
}
