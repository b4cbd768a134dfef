import { decodeLine, type LineEntry } from '../../../src/next/engine/format/line.js';
import {
  type AttemptFacts,
  type DetailFacts,
  decodeValue,
  type LetterFacts,
  type RecentFacts,
  type ResultFacts,
  type RoundFacts,
  type StoredValue,
} from '../../../src/next/engine/format/side-values.js';
import type { SideWrite } from '../../../src/next/engine/state/side-writes.js';

type Of<K extends SideWrite['kind']> = Extract<SideWrite, { kind: K }>;

interface Facts {
  result: ResultFacts;
  detail: DetailFacts;
  attempt: AttemptFacts;
  letter: LetterFacts;
  recent: RecentFacts;
  round: RoundFacts;
}

/** What a journal keeps of side writes. */
export class SideStore {
  readonly #kept = new Map<string, SideWrite>();
  /** All writes ever made, in order. */
  readonly log: SideWrite[] = [];

  apply(writes: readonly SideWrite[]): void {
    for (const write of writes) {
      this.log.push(write);
      if (write.kind === 'letter-gone') this.#kept.delete(`letter ${write.groupId} ${write.position}`);
      else if (write.kind === 'detail-gone') this.#kept.delete(`detail ${write.groupId} ${write.position}`);
      else this.#kept.set(keyOf(write), write);
    }
  }

  /** Writes of one kind, in the order in which they were first made. */
  all<K extends SideWrite['kind']>(kind: K): Of<K>[] {
    return [...this.#kept.values()].filter((write): write is Of<K> => write.kind === kind);
  }

  values<K extends keyof Facts>(kind: K): StoredValue<Facts[K]>[] {
    return this.all(kind).map((write) => decodeValue<Facts[K]>((write as Of<'letter'>).bytes));
  }

  facts<K extends keyof Facts>(kind: K): Facts[K][] {
    return this.values(kind).map(({ facts }) => facts);
  }

  lines(): (readonly LineEntry[])[] {
    return this.all('line').map(({ bytes }) => decodeLine(bytes));
  }

  get contents(): ReadonlyMap<string, SideWrite> {
    return new Map(this.#kept);
  }
}

function keyOf(write: SideWrite): string {
  switch (write.kind) {
    case 'result':
      return `result ${write.groupId} ${write.number}`;
    case 'attempt':
      return `attempt ${write.groupId} ${write.position} ${write.slot}`;
    case 'line':
    case 'chunk':
      return `${write.kind} ${write.groupId} ${write.address}`;
    case 'recent':
      return `recent ${write.key}`;
    case 'round':
      return `round ${write.groupId} ${write.round}`;
    case 'id':
      return `id ${write.groupId} ${write.id}`;
    case 'letters-max':
      return 'letters-max';
    default:
      return `${write.kind} ${write.groupId} ${write.position}`;
  }
}
