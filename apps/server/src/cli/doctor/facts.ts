import type { ResponseOf } from '@millrace/contract/server-client';

/** The queues of bulk jobs at one moment. */
export type Queues = ResponseOf<'getQueues'>;
/** One process of the server. */
export type Instance = ResponseOf<'listInstances'>['items'][number];
/** What happened in some seconds, in all instances. */
export type StatPoint = NonNullable<ResponseOf<'getStats'>['points'][number]>;
/** Dead letters of one cause. */
export type Signature = NonNullable<ResponseOf<'listDeadLetters'>['signatures']>[number];
/** A service that jobs call. */
type Resource = ResponseOf<'getCongestion'>['resources'][number];

/** A job that waits, and what it waits for: the first in line of a group. */
export interface HeldJob {
  readonly groupId: string;
  readonly jobId: string;
  readonly processorType: string;
  /** Everything that must change before it runs, the first first; see GateName of bulk-action. None: it could run now. */
  readonly gates: readonly { readonly gate: string; readonly detail: string }[];
}

/** A job that runs. */
export interface RunningJob {
  readonly groupId: string;
  readonly jobId: string;
  readonly processorType: string;
  readonly runsForMs: number;
}

/** A dead letter, as far as it says how new the trouble is. */
interface NewLetter {
  /** Milliseconds since 1970. */
  readonly failedAt: number;
  /** Of a demo, which lets jobs fail on purpose. */
  readonly isDemo: boolean;
}

/** How large the payloads of some waiting jobs are. */
interface PayloadSizes {
  readonly looked: number;
  readonly meanBytes: number;
  readonly maxBytes: number;
}

/** Everything that the rules of a running server judge. */
export interface ServerFacts {
  readonly url: string;
  /** Whether it is asked with a key. */
  readonly hasKey: boolean;
  /** The server's time, milliseconds since 1970. */
  readonly nowMs: number;
  /** One process that needs nothing else: its jobs are in its memory. */
  readonly isEmbedded: boolean;
  /** Two looks at the queues. */
  readonly queues: readonly [before: Queues, after: Queues];
  /** Between the two. */
  readonly apartMs: number;
  readonly instances: readonly Instance[];
  /** Of the groups with the most waiting jobs. */
  readonly held: readonly HeldJob[];
  /** The longest first. */
  readonly running: readonly RunningJob[];
  /** undefined: none waits. */
  readonly payloads: PayloadSizes | undefined;
  /** Of the last minutes, oldest first. */
  readonly points: readonly StatPoint[];
  /** What each of them stands for. */
  readonly pointMs: number;
  /** The most frequent first. */
  readonly signatures: readonly Signature[];
  /** Types of the newest dead letters, the most frequent first. */
  readonly deadTypes: readonly string[];
  /** The newest dead letters. */
  readonly newestLetters: readonly NewLetter[];
  readonly resources: readonly Resource[];
}
