/** How one group of a tenant fared, by the clock of the store it is in. */
export interface GroupTimes {
  /** From its submission to the start of its first job; null: none has started. */
  readonly startedAfterMs: number | null;
  /** From its submission to its end; null: it has not ended by itself. */
  readonly doneAfterMs: number | null;
}

/** What a tenant got of all cost that was started while it wanted something, from 0 to 1. */
export interface Shares {
  readonly share: number;
  /** What its weight was entitled to. */
  readonly fairShare: number;
}

/** The bulk jobs of one tenant in a demo. */
export interface TenantFacts {
  readonly id: string;
  readonly kind: 'whale' | 'small' | 'other';
  readonly jobs: number;
  readonly done: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly perSecond: number;
  /** Until its groups are done; null: not known, or they are. */
  readonly etaMs: number | null;
  /** In the last looks; null: it has wanted nothing. */
  readonly now: Shares | null;
  /** Over the whole demo; null: it never wanted anything for long enough to tell. */
  readonly overall: Shares | null;
  readonly groups: readonly GroupTimes[];
}

/** The service that refuses calls. */
export interface ServiceFacts {
  readonly resource: string;
  /** Calls per second now. */
  readonly perSecond: number;
  /** What the engine has learnt to call it with at most; null: nothing yet. */
  readonly limit: number | null;
  /** Tries that it refused. */
  readonly refused: number;
  readonly level: string;
}

/** A step of a DAG. */
export interface StepFacts {
  readonly key: string;
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'left out';
}

/** Batches of a demo. */
export interface BatchFacts {
  readonly done: number;
  readonly failed: number;
  readonly open: number;
  /** The steps of the newest, those that can run side by side together. */
  readonly newest: readonly (readonly StepFacts[])[];
}

/** Operations of a demo. */
export interface OperationFacts {
  readonly completed: number;
  readonly failed: number;
  readonly open: number;
  /** From acceptance to end, of half of those that completed; null: none has. */
  readonly medianMs: number | null;
}

/** Jobs that failed for good. */
export interface DeadLetterFacts {
  readonly count: number;
  /** The most frequent first. */
  readonly causes: readonly { readonly signature: string; readonly count: number }[];
}

/** Turns of chat. */
export interface ChatFacts {
  readonly turns: number;
  readonly answered: number;
  /** Pieces that the answers came in. */
  readonly pieces: number;
  readonly question: string;
  /** As far as it has come. */
  readonly answer: string;
  readonly isStreaming: boolean;
}

/** Everything that is known of a demo at one moment. */
export interface DemoFacts {
  readonly run: string;
  /** Of the server. */
  readonly url: string;
  readonly elapsedMs: number;
  /** How long it brings work. */
  readonly lengthMs: number;
  /** Whether everything of it has ended. */
  readonly isOver: boolean;
  /** The whale first. */
  readonly tenants: readonly TenantFacts[];
  /** null: it was not called yet. */
  readonly service: ServiceFacts | null;
  readonly batches: BatchFacts;
  readonly operations: OperationFacts;
  readonly deadLetters: DeadLetterFacts;
  readonly chat: ChatFacts;
}

/** The median and the maximum of several durations, in milliseconds. */
export interface Spread {
  readonly median: number;
  readonly max: number;
}

/**
 * Computes the median and the maximum of several durations. Returns null if none is known.
 * @param durations - in milliseconds. null means unknown.
 */
export function spreadOf(durations: readonly (number | null)[]): Spread | null {
  const known = durations.filter((ms) => ms !== null).sort((a, b) => a - b);
  const median = known[Math.ceil(known.length / 2) - 1];
  return median === undefined ? null : { median, max: Math.max(...known) };
}
