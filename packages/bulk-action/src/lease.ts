import type { GroupKey } from './model.js';
import type { GroupStatus, JobStatus, NonReadyReason } from './states.js';

/** Names one lease; the token fences everybody else off. */
export interface LeaseRef {
  readonly key: GroupKey;
  readonly jobId: string;
  readonly token: number;
}

/** A job under a lease of `reliableQueue.ackTimeoutMs`. */
export interface LeasedJob extends LeaseRef {
  readonly tenant: string;
  readonly tenantId: string;
  readonly processorType: string;
  /** JSON. */
  readonly payload: string;
  readonly cost: number;
  readonly retryCount: number;
  /** The number of this try, from 1. */
  readonly attempt: number;
  readonly createdAt: number;
  /** How long it waited since it could have started. */
  readonly waitedMs: number;
  /** The earlier of the job's and the group's, milliseconds since 1970. */
  readonly deadline?: number;
  readonly traceparent: string;
}

/** A request for jobs. */
export interface ReserveRequest {
  readonly instanceId: string;
  /** One higher with every new request; the same number again asks for the same answer again. */
  readonly seq: number;
  readonly max: number;
  /** How many of them may be taken from the fair queue through the gate when too few are ready (0). */
  readonly turns?: number | undefined;
}

/** The answer to a request for jobs. */
export interface ReserveAnswer {
  readonly jobs: readonly LeasedJob[];
  /** Ready entries whose job record was gone: removed, to be logged. */
  readonly missing: readonly { readonly key: GroupKey; readonly jobId: string }[];
  /** Jobs sent to non-ready for want of a token. */
  readonly rateDenied: number;
}

/** What a called service said when it refused a try. */
export interface Throttle {
  readonly retryAfterMs?: number | undefined;
  /** Of [0, 1): spreads those who come back. */
  readonly random: number;
}

/** What a try came to. */
export type Outcome =
  | {
      readonly kind: 'success';
      /** JSON, to be kept for the group's aggregation. */
      readonly data?: string;
      /** There was data that cannot be kept: counted in `resultsDropped`. */
      readonly dropped?: true;
      /** The type has an aggregator: when all jobs are done, the group's results are to be added up. */
      readonly aggregate?: true;
      /** Counted by name: how many, their sum, the least and the greatest. */
      readonly numbers?: Readonly<Record<string, number>>;
    }
  | {
      /** Again after `delayMs`; `spendsRetry` raises retryCount. */
      readonly kind: 'retry';
      readonly error: { readonly code: string; readonly message: string };
      readonly reason: NonReadyReason;
      readonly delayMs: number;
      readonly spendsRetry: boolean;
      /** The called service refused it: the store decides the delay, and slows who is to be slowed. */
      readonly throttle?: Throttle;
    }
  | {
      /** For good; `dead` keeps it as a dead letter. */
      readonly kind: 'failure';
      readonly error: { readonly code: string; readonly message: string };
      readonly dead: boolean;
      readonly signature: string;
      /** As of a success. */
      readonly aggregate?: true;
    };

/** One try reported. */
export interface Settlement extends LeaseRef {
  readonly durationMs: number;
  readonly outcome: Outcome;
}

/**
 * accepted: counted, now or when the same token was reported first. stale: another lease holds or settled the job.
 * cancelled: its round had ended; lease and slot are free now. gone: no such job.
 */
export interface SettleAnswer {
  readonly status: 'accepted' | 'stale' | 'cancelled' | 'gone';
  /** Accepted only: what the job is now, and whether its group has ended. */
  readonly jobStatus?: JobStatus;
  readonly groupStatus?: GroupStatus;
}

/** What recovery did with expired leases. */
export interface RecoverAnswer {
  /** All whose lease was taken away, the dead ones too. */
  readonly recovered: number;
  /** Failed as `ORPHANED`: past `maxOrphanCount`. */
  readonly dead: readonly {
    readonly key: GroupKey;
    readonly jobId: string;
    readonly traceparent: string;
  }[];
  /** Whether more are waiting. */
  readonly more: boolean;
}
