/**
 * Where a job is, and what that means to its caller. At every instant a job is in exactly one place, and every arrow
 * is one atomic step of the store.
 *
 * ```
 *  add ─▶ LANE ──fetch──▶ READY ──reserve──▶ IN_FLIGHT ──settle──▶ DONE
 *   │      ▲ ▲              │ ▲                │  │  └───settle────▶ DEAD ──redrive──▶ LANE
 *   │      │ └─pause, cap───┘ └───give back────┤  │
 *   │      │                │                  │  └─ lease expired, failed, throttled ─┐
 *   └──────┼────notBefore───┼──no token────────┼──────▶ NON_READY ◀────────────────────┘
 *          └──────────────due (may go on to READY)───────┘
 * ```
 * LANE, READY and NON_READY are PENDING; IN_FLIGHT is PROCESSING; DONE is COMPLETED or FAILED; DEAD is FAILED. A job
 * whose round ended without it (cancel, timeout) is CANCELLED wherever its entry still lies, until the sweep.
 */
export const JobPlace = {
  LANE: 'LANE',
  READY: 'READY',
  NON_READY: 'NON_READY',
  IN_FLIGHT: 'IN_FLIGHT',
  DONE: 'DONE',
  DEAD: 'DEAD',
} as const;
/** See the constant. */
export type JobPlace = (typeof JobPlace)[keyof typeof JobPlace];

/** What a caller sees of a job. */
export const JobStatus = {
  PENDING: 'PENDING',
  PROCESSING: 'PROCESSING',
  COMPLETED: 'COMPLETED',
  FAILED: 'FAILED',
  CANCELLED: 'CANCELLED',
} as const;
/** See the constant. */
export type JobStatus = (typeof JobStatus)[keyof typeof JobStatus];

/**
 * Where a group is. The store alone changes it, in the step that changes what it stands for.
 *
 * ```
 *  CREATED ──seal──▶ DISPATCHED ──first start──▶ RUNNING ──all done──▶ AGGREGATING ──▶ COMPLETED
 *     │ (first job started before: straight to RUNNING) ▲    ▲                │
 *     └─seal of an empty group──────────────────────────┼────┼─▶ COMPLETED    └─ reduce failed ──▶ FAILED
 *                                                       │    ├── redrive: the same round ── AGGREGATING
 *                                                       │    └── redrive: round + 1 ── any ended state
 *  any state before the end ──cancelGroup──▶ CANCELLED, ──timeout, deadline──▶ FAILED
 * ```
 * With no aggregator for the group AGGREGATING and COMPLETED are one step.
 */
export const GroupStatus = {
  CREATED: 'CREATED',
  DISPATCHED: 'DISPATCHED',
  RUNNING: 'RUNNING',
  AGGREGATING: 'AGGREGATING',
  COMPLETED: 'COMPLETED',
  FAILED: 'FAILED',
  CANCELLED: 'CANCELLED',
} as const;
/** See the constant. */
export type GroupStatus = (typeof GroupStatus)[keyof typeof GroupStatus];

const { DISPATCHED, RUNNING, AGGREGATING, COMPLETED, FAILED, CANCELLED } = GroupStatus;

/** What may follow what; anything else is refused and leaves the state as it was. */
export const GROUP_TRANSITIONS: Readonly<Record<GroupStatus, readonly GroupStatus[]>> = {
  CREATED: [DISPATCHED, RUNNING, AGGREGATING, COMPLETED, FAILED, CANCELLED],
  DISPATCHED: [RUNNING, AGGREGATING, COMPLETED, FAILED, CANCELLED],
  RUNNING: [AGGREGATING, COMPLETED, FAILED, CANCELLED],
  AGGREGATING: [RUNNING, COMPLETED, FAILED, CANCELLED],
  COMPLETED: [RUNNING],
  FAILED: [RUNNING],
  CANCELLED: [RUNNING],
};

/**
 * Whether a group in this state has ended.
 * @param status - the state.
 */
export const hasEnded = (status: GroupStatus): boolean =>
  status === COMPLETED || status === FAILED || status === CANCELLED;

/** How much a group counts against others; a level is a weight, so low is never starved. */
export const PriorityLevel = { HIGH: 'high', NORMAL: 'normal', LOW: 'low' } as const;
/** See the constant. */
export type PriorityLevel = (typeof PriorityLevel)[keyof typeof PriorityLevel];

/** Why a job waits outside the fair queue. */
export const NonReadyReason = {
  RATE_LIMITED: 'RATE_LIMITED',
  API_THROTTLED: 'API_THROTTLED',
  TRANSIENT_ERROR: 'TRANSIENT_ERROR',
  SCHEDULED: 'SCHEDULED',
  NO_PROCESSOR: 'NO_PROCESSOR',
  ORPHANED: 'ORPHANED',
} as const;
/** See the constant. */
export type NonReadyReason = (typeof NonReadyReason)[keyof typeof NonReadyReason];

/** Where the gate sent a job; REJECTED is at the head of its group's lane. */
export const BackpressureDestination = {
  READY: 'READY',
  NON_READY: 'NON_READY',
  REJECTED: 'REJECTED',
} as const;
/** See the constant. */
export type BackpressureDestination = (typeof BackpressureDestination)[keyof typeof BackpressureDestination];

/**
 * Where a worker is. IDLE: not started. RUNNING: takes jobs. STOPPING: takes no more, its job goes on. STOPPED: done.
 *
 * ```
 *   IDLE ──start()──▶ RUNNING ──stop()──▶ STOPPING ──job ended──▶ STOPPED
 *     └──────────────────── stop() ───────────────────────────────▲
 * ```
 */
export const WorkerState = {
  IDLE: 'IDLE',
  RUNNING: 'RUNNING',
  STOPPING: 'STOPPING',
  STOPPED: 'STOPPED',
} as const;
/** See the constant. */
export type WorkerState = (typeof WorkerState)[keyof typeof WorkerState];
