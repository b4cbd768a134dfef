import type { Position } from './position.js';

/** An attempt of a job. */
export interface JobRef {
  readonly groupId: string;
  readonly position: Position;
  readonly attempt: number;
}

/** What an instance gets with a commit, before the jobs that it has to run. */
export type Message = Recall | Abort | Answer | Aggregate;

/**
 * The instance must not launch these any more: it returns those that it has not launched and names those that it has, then
 * the owner answers who paused or cancelled them.
 */
interface Recall {
  readonly kind: 'recall';
  readonly number: number;
  readonly targets: readonly RecallTarget[];
}

/** One job, or all jobs of a group. */
export interface RecallTarget {
  readonly groupId: string;
  readonly position?: Position;
}

/** The job has ended without this attempt: the instance aborts it if it runs it, and returns it if not. */
interface Abort extends JobRef {
  readonly kind: 'abort';
}

/**
 * The instance adds up the results of a round. It settles the attempt at `AGGREGATION_POSITION`, as a job that succeeds with the
 * data of the result or fails.
 */
export interface Aggregate {
  readonly kind: 'aggregate';
  readonly groupId: string;
  readonly round: number;
  readonly attempt: number;
  /** Its aggregators, in the order of their first use. */
  readonly types: readonly string[];
  /** Numbers of the first result that counts, and of the one after the last. */
  readonly resultsFrom: number;
  readonly resultsTo: number;
  readonly total: number;
  readonly success: number;
  readonly failed: number;
  readonly startedMs: number;
  /** The end of its last job. */
  readonly doneMs: number;
}

/** What came of a notice. */
interface Answer {
  readonly kind: 'answer';
  readonly nonce: number;
  readonly result: CommandResult;
}

export type CommandResult =
  | { readonly kind: 'done' | 'not-found' | 'ended' }
  /** Nothing was changed. */
  | { readonly kind: 'refused'; readonly code: RefusalCode };

/** ORDERED: the job must not pass those before it. MIN_SHARE: the minimum shares of all tenants would exceed 1. */
export type RefusalCode = 'ORDERED' | 'MIN_SHARE';

/** Nonces that are kept of an instance, and instances whose nonces are kept. */
const NONCES_MAX = 1_000;
const ASKERS_MAX = 500;

/** Results of the latest notices, by instance and nonce, oldest first. A repeated notice gets the same answer. */
export class Nonces {
  readonly byInstance = new Map<string, Map<number, CommandResult>>();

  get(instanceId: string, nonce: number): CommandResult | undefined {
    return this.byInstance.get(instanceId)?.get(nonce);
  }

  /** Keeps a result. The oldest nonce, and the instance that has asked nothing for the longest time, go. */
  add(instanceId: string, nonce: number, result: CommandResult): void {
    const nonces = this.byInstance.get(instanceId) ?? new Map<number, CommandResult>();
    this.byInstance.delete(instanceId);
    this.byInstance.set(instanceId, nonces);
    nonces.set(nonce, result);
    dropOldest(nonces, NONCES_MAX);
    dropOldest(this.byInstance, ASKERS_MAX);
  }
}

function dropOldest<K>(map: Map<K, unknown>, most: number): void {
  if (map.size <= most) return;
  const [oldest] = map.keys();
  map.delete(oldest as K);
}

/** An answer that waits until instances have answered recalls or have died. */
export interface PendingAnswer {
  readonly instanceId: string;
  readonly answer: Answer;
  /** Recalls that have no answer yet. */
  recalls: number;
}

/** A recall that has no answer yet. */
export interface PendingRecall {
  readonly instanceId: string;
  readonly pending: PendingAnswer;
}
