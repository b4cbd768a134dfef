import { NonReadyReason } from '../../../states.js';
import type {
  ChunkAnnounced,
  ChunkDropped,
  ChunkFronted,
  JobDelayed,
  JobEnded,
  JobRequeued,
  JobStarted,
} from '../state/change.js';
import { readEndKept, writeEndKept } from './kept.js';
import { type ChangeCodec, type NoteReader, type NoteWriter, pick } from './note-stream.js';

const REASONS = Object.values(NonReadyReason);
const OUTCOMES = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;

const HAS_KEPT = 4;
const HAS_CHARGE = 1;
const IS_LIMITED = 2;
const IS_MINIMUM = 4;
const HAS_REFUND = 1;
const IS_FIRST = 2;

/** Most bytes of a note are starts and ends. A start takes about 16 bytes, an end about 9. */
const started: ChangeCodec<JobStarted> = {
  write(out, change) {
    const { bytes } = out;
    const { cost, charge, isLimited, isMinimum } = change;
    const flags = (charge === cost ? 0 : HAS_CHARGE) + (isLimited ? IS_LIMITED : 0);
    out.group(change.group);
    bytes.count(change.position);
    bytes.count(change.attempt);
    out.instance(change.instanceId);
    bytes.count(cost);
    bytes.byte(flags + (isMinimum ? IS_MINIMUM : 0));
    if (charge !== cost) bytes.number(charge);
    out.resource(change.resource);
    bytes.tag(change.groupStart);
    bytes.tag(change.seatStart);
    if (isLimited) bytes.tag(change.freeStart);
    out.time(change.atUs);
  },
  read(from) {
    const { bytes } = from;
    const group = from.group();
    const position = bytes.count();
    const attempt = bytes.count();
    const instanceId = from.instance();
    const cost = bytes.count();
    const flags = bytes.byte();
    const charge = flags & HAS_CHARGE ? bytes.number() : cost;
    const resource = from.resource();
    const isLimited = (flags & IS_LIMITED) > 0;
    const isMinimum = (flags & IS_MINIMUM) > 0;
    const groupStart = bytes.tag();
    const seatStart = bytes.tag();
    const freeStart = isLimited ? bytes.tag() : seatStart;
    const tags = { isLimited, isMinimum, groupStart, seatStart, freeStart };
    return { group, position, attempt, instanceId, cost, charge, resource, ...tags, atUs: from.time() };
  },
};

const ended: ChangeCodec<JobEnded> = {
  write(out, change) {
    out.group(change.group);
    out.bytes.count(change.position);
    out.bytes.byte(OUTCOMES.indexOf(change.outcome) + (change.kept ? HAS_KEPT : 0));
    out.bytes.optional(change.durationMs);
    if (change.outcome === 'FAILED') out.bytes.text(change.code ?? '');
    out.correction(change.correction);
    out.time(change.atUs);
    if (change.kept) writeEndKept(out.bytes, change.kept);
  },
  read(from) {
    const group = from.group();
    const position = from.bytes.count();
    const flags = from.bytes.byte();
    const outcome = pick(OUTCOMES, flags & ~HAS_KEPT);
    const durationMs = from.bytes.optional();
    const code = outcome === 'FAILED' ? from.bytes.text() : undefined;
    const correction = from.correction();
    const atUs = from.time();
    const kept = flags & HAS_KEPT ? readEndKept(from.bytes) : undefined;
    return { group, position, outcome, durationMs, code, correction, atUs, kept };
  },
};

function writeWaiting(out: NoteWriter, change: JobRequeued | JobDelayed): void {
  out.group(change.group);
  out.bytes.count(change.position);
  out.bytes.count(change.attempt);
  out.bytes.count(change.retryCount);
  out.bytes.count(change.orphanCount);
  out.correction(change.correction);
}

const readWaiting = (from: NoteReader): Omit<JobRequeued, 'kind' | 'refund' | 'isFirst'> => ({
  group: from.group(),
  position: from.bytes.count(),
  attempt: from.bytes.count(),
  retryCount: from.bytes.count(),
  orphanCount: from.bytes.count(),
  correction: from.correction(),
});

const requeued: ChangeCodec<JobRequeued> = {
  write(out, change) {
    const { refund, isFirst } = change;
    writeWaiting(out, change);
    out.bytes.byte((refund ? HAS_REFUND : 0) + (isFirst ? IS_FIRST : 0));
    if (!refund) return;
    out.bytes.count(refund.cost);
    out.time(refund.startedUs);
    out.resource(refund.resource);
  },
  read(from) {
    const waiting = readWaiting(from);
    const flags = from.bytes.byte();
    const refund =
      flags & HAS_REFUND
        ? { cost: from.bytes.count(), startedUs: from.time(), resource: from.resource() }
        : undefined;
    return { ...waiting, refund, isFirst: (flags & IS_FIRST) > 0 };
  },
};

const delayed: ChangeCodec<JobDelayed> = {
  write(out, change) {
    writeWaiting(out, change);
    out.bytes.count(change.dueMs);
    out.bytes.byte(REASONS.indexOf(change.reason));
    out.bytes.optional(change.backoffMs);
    out.resource(change.throttledBy);
  },
  read: (from) => ({
    ...readWaiting(from),
    dueMs: from.bytes.count(),
    reason: pick(REASONS, from.bytes.byte()),
    backoffMs: from.bytes.optional(),
    throttledBy: from.resource(),
  }),
};

const announced: ChangeCodec<ChunkAnnounced> = {
  write(out, change) {
    out.group(change.group);
    out.bytes.count(change.address);
    out.bytes.count(change.jobs);
    out.bytes.byte(change.isLate ? 1 : 0);
    out.time(change.atUs);
  },
  read: (from) => ({
    group: from.group(),
    address: from.bytes.count(),
    jobs: from.bytes.count(),
    isLate: from.bytes.byte() === 1,
    atUs: from.time(),
  }),
};

const fronted: ChangeCodec<ChunkFronted> = {
  write(out, { group, address, jobs }) {
    out.group(group);
    out.bytes.count(address);
    out.bytes.count(jobs);
  },
  read: (from) => ({ group: from.group(), address: from.bytes.count(), jobs: from.bytes.count() }),
};

const dropped: ChangeCodec<ChunkDropped> = {
  write(out, { group, address }) {
    out.group(group);
    out.bytes.count(address);
  },
  read: (from) => ({ group: from.group(), address: from.bytes.count() }),
};

/** Changes of jobs and their chunks. */
export const JOB_CHANGES = { started, ended, requeued, delayed, announced, fronted, dropped };
