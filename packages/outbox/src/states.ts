import type { BatchStatus, OutboxStatus } from './model.js';

/**
 * The life of a task. Every arrow is one statement; those that leave PROCESSING name the claim they end.
 *
 * ```
 *             claim (poller)               complete
 *   READY ───────────────────▶ PROCESSING ──────────▶ DONE
 *    │ ▲  ▲                      │  │  │
 *    │ │  └── fails, tries left; lease lost; given back ┘
 *    │ │                         │  └── fails for good ─▶ FAILED (dead letter)
 *    │ │ retry, retryTask        └── condition false ───▶ SKIPPED
 *    │ └───────── FAILED, CANCELLED, SKIPPED by cascade
 *    ├── a parent can no longer succeed ──▶ SKIPPED
 *    └── its batch fails ──▶ CANCELLED ◀── abort ── PROCESSING
 * ```
 * A retry makes a CANCELLED task SKIPPED where it can still not start.
 * READY with pre_cnt > 0 waits for others; only the ends of its parents change its counts.
 */
export const TASK_MOVES: Readonly<Record<OutboxStatus, readonly OutboxStatus[]>> = Object.freeze({
  READY: ['PROCESSING', 'SKIPPED', 'CANCELLED'],
  PROCESSING: ['DONE', 'FAILED', 'SKIPPED', 'CANCELLED', 'READY'],
  DONE: [],
  FAILED: ['READY'],
  SKIPPED: ['READY'],
  CANCELLED: ['READY', 'SKIPPED'],
});

/**
 * The life of a batch. It ends in the transaction that counts its last open task (folder), or by abort; `retry` opens it again.
 *
 * ```
 *   RUNNING ──▶ DONE | FAILED | ABORTED ──retry──▶ RUNNING
 * ```
 */
export const BATCH_MOVES: Readonly<Record<BatchStatus, readonly BatchStatus[]>> = Object.freeze({
  RUNNING: ['DONE', 'FAILED', 'ABORTED'],
  DONE: ['RUNNING'],
  FAILED: ['RUNNING'],
  ABORTED: ['RUNNING'],
});
