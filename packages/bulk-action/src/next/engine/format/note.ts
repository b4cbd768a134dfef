import { GroupStatus, NonReadyReason, PriorityLevel } from '../../../states.js';
import type {
  Change,
  ChargeCorrection,
  GroupSettings,
  JobDelayed,
  JobEnded,
  JobRequeued,
  JobStarted,
} from '../state/change.js';
import { Group, Resource, Tenant } from '../state/records.js';
import { Scope } from '../state/scope.js';
import type { EngineState } from '../state/state.js';
import { type ByteReader, ByteWriter, FormatError, ByteReader as Reader } from './bytes.js';

const NOTE_VERSION = 1;

const KINDS = [
  ...(['tenant', 'group', 'announced', 'started', 'ended', 'requeued', 'delayed'] as const),
  ...(['dropped', 'sealed', 'moved', 'paused', 'limits', 'settings', 'epoch'] as const),
];
const STATUSES = Object.values(GroupStatus);
const REASONS = Object.values(NonReadyReason);
const LEVELS = Object.values(PriorityLevel);
const OUTCOMES = ['COMPLETED', 'FAILED', 'CANCELLED'] as const;

/** The commit of a note. */
export interface NoteHead {
  readonly seq: number;
  readonly atUs: number;
  /** Epoch of the fair order at its beginning. */
  readonly epoch: number;
}

/** Writes the changes of one commit. All of them happened at the time of the commit, or name their own. */
export function encodeNote(writer: ByteWriter, head: NoteHead, changes: readonly Change[]): Uint8Array {
  writer.begin(NOTE_VERSION);
  writer.count(head.seq);
  writer.count(head.atUs);
  writer.count(head.epoch);
  const notes = new NoteWriter(writer, head.atUs);
  for (const change of changes) notes.write(change);
  return writer.finish();
}

/**
 * Reads a note and passes its changes on one by one: later ones name groups that earlier ones add.
 * @throws FormatError if the note is damaged.
 */
export function readNote(
  note: Uint8Array,
  state: EngineState,
  apply: (change: Change, head: NoteHead) => void,
): NoteHead {
  const reader = new Reader(note, NOTE_VERSION);
  const head = { seq: reader.count(), atUs: reader.count(), epoch: reader.count() };
  const notes = new NoteReader(reader, state, head.atUs);
  while (!reader.isAtEnd) apply(notes.read(), head);
  return head;
}

class NoteWriter {
  /** Instances by the order in which the note names them first. */
  readonly #instances: string[] = [];

  constructor(
    readonly out: ByteWriter,
    readonly atUs: number,
  ) {}

  write(change: Change): void {
    const { out } = this;
    out.byte(KINDS.indexOf(change.kind));
    switch (change.kind) {
      case 'tenant':
        out.count(change.number);
        out.text(change.id);
        break;
      case 'group':
        out.count(change.number);
        out.count(change.tenant.number);
        out.text(change.id);
        this.#time(change.atUs);
        writeSettings(out, change.settings, change.settings);
        break;
      case 'announced':
        out.count(change.group.number);
        out.count(change.address);
        out.count(change.jobs);
        this.#time(change.atUs);
        break;
      case 'started':
        this.#started(change);
        break;
      case 'ended':
        this.#ended(change);
        break;
      case 'requeued':
        this.#waiting(change);
        break;
      case 'delayed':
        this.#waiting(change);
        out.count(change.dueMs);
        out.byte(REASONS.indexOf(change.reason));
        out.optional(change.backoffMs);
        break;
      case 'dropped':
        out.count(change.group.number);
        out.count(change.address);
        break;
      case 'sealed':
        out.count(change.group.number);
        break;
      case 'moved':
        out.count(change.group.number);
        out.byte(STATUSES.indexOf(change.status));
        out.text(change.code ?? '');
        out.count(change.round);
        this.#time(change.atUs);
        break;
      case 'paused':
        out.integer(change.scope.number);
        out.byte(change.isPaused ? 1 : 0);
        break;
      case 'limits':
        out.integer(change.scope.number);
        out.number(change.weight);
        out.optional(change.rps);
        out.optional(change.burst);
        out.optional(change.concurrency);
        out.number(change.minShare);
        out.float(change.virtual);
        this.#time(change.atUs);
        break;
      case 'settings':
        out.count(change.group.number);
        out.byte(LEVELS.indexOf(change.priorityLevel));
        out.float(change.virtual);
        out.count(change.timeoutMs);
        out.optional(change.deadlineMs);
        break;
      case 'epoch':
        break;
    }
  }

  #started(change: JobStarted): void {
    const { out } = this;
    const { resource, isLimited } = change;
    out.count(change.group.number);
    out.count(change.position);
    out.count(change.attempt);
    this.#instance(change.instanceId);
    out.count(change.cost);
    out.byte((change.charge === change.cost ? 0 : 1) + (resource ? 2 : 0) + (isLimited ? 4 : 0));
    if (change.charge !== change.cost) out.number(change.charge);
    if (resource) out.integer(resource.number);
    out.tag(change.groupStart);
    out.tag(change.seatStart);
    if (isLimited) out.tag(change.freeStart);
    this.#time(change.atUs);
  }

  #ended(change: JobEnded): void {
    const { out } = this;
    out.count(change.group.number);
    out.count(change.position);
    out.byte(OUTCOMES.indexOf(change.outcome));
    out.optional(change.durationMs);
    if (change.outcome === 'FAILED') out.text(change.code ?? '');
    writeCorrection(out, change.correction);
    this.#time(change.atUs);
  }

  #waiting(change: JobRequeued | JobDelayed): void {
    const { out } = this;
    out.count(change.group.number);
    out.count(change.position);
    out.count(change.attempt);
    out.count(change.retryCount);
    out.count(change.orphanCount);
    writeCorrection(out, change.correction);
  }

  /** Most changes happen at the time of the commit or shortly before. */
  #time(atUs: number): void {
    this.out.integer(this.atUs - atUs);
  }

  #instance(id: string): void {
    const at = this.#instances.indexOf(id);
    this.out.count(at + 1);
    if (at >= 0) return;
    this.out.text(id);
    this.#instances.push(id);
  }
}

class NoteReader {
  readonly #instances: string[] = [];

  constructor(
    readonly from: ByteReader,
    readonly state: EngineState,
    readonly atUs: number,
  ) {}

  read(): Change {
    const { from } = this;
    const kind = KINDS[from.byte()];
    switch (kind) {
      case 'tenant':
        return { kind, number: from.count(), id: from.text() };
      case 'group': {
        const number = from.count();
        const tenant = this.#record(from.count(), Tenant);
        return { kind, number, tenant, id: from.text(), atUs: this.#time(), settings: readSettings(from) };
      }
      case 'announced':
        return {
          kind,
          group: this.#group(),
          address: from.count(),
          jobs: from.count(),
          atUs: this.#time(),
        };
      case 'started':
        return this.#started();
      case 'ended':
        return this.#ended();
      case 'requeued':
        return { kind, ...this.#waiting() };
      case 'delayed':
        return {
          kind,
          ...this.#waiting(),
          dueMs: from.count(),
          reason: pick(REASONS, from.byte()),
          backoffMs: from.optional(),
        };
      case 'dropped':
        return { kind, group: this.#group(), address: from.count() };
      case 'sealed':
        return { kind, group: this.#group() };
      case 'moved': {
        const group = this.#group();
        const status = pick(STATUSES, from.byte());
        const code = from.text() || undefined;
        return { kind, group, status, code, round: from.count(), atUs: this.#time() };
      }
      case 'paused':
        return { kind, scope: this.#record(from.integer(), Scope), isPaused: from.byte() === 1 };
      case 'limits':
        return {
          kind,
          scope: this.#record(from.integer(), Scope),
          weight: from.number(),
          rps: from.optional(),
          burst: from.optional(),
          concurrency: from.optional(),
          minShare: from.number(),
          virtual: from.float(),
          atUs: this.#time(),
        };
      case 'settings':
        return {
          kind,
          group: this.#group(),
          priorityLevel: pick(LEVELS, from.byte()),
          virtual: from.float(),
          timeoutMs: from.count(),
          deadlineMs: from.optional(),
        };
      case 'epoch':
        return { kind };
      default:
        throw new FormatError('A note has a change of an unknown kind');
    }
  }

  #started(): JobStarted {
    const { from } = this;
    const group = this.#group();
    const position = from.count();
    const attempt = from.count();
    const instanceId = this.#instance();
    const cost = from.count();
    const flags = from.byte();
    const charge = flags & 1 ? from.number() : cost;
    const resource = flags & 2 ? this.#record(from.integer(), Resource) : undefined;
    const isLimited = (flags & 4) > 0;
    const groupStart = from.tag();
    const seatStart = from.tag();
    const freeStart = isLimited ? from.tag() : seatStart;
    const start = { kind: 'started', group, position, attempt, instanceId, cost, charge, resource } as const;
    return { ...start, isLimited, groupStart, seatStart, freeStart, atUs: this.#time() };
  }

  #ended(): JobEnded {
    const { from } = this;
    const group = this.#group();
    const position = from.count();
    const outcome = pick(OUTCOMES, from.byte());
    const durationMs = from.optional();
    const code = outcome === 'FAILED' ? from.text() : undefined;
    const correction = this.#correction();
    return { kind: 'ended', group, position, outcome, durationMs, code, correction, atUs: this.#time() };
  }

  #waiting(): Omit<JobRequeued, 'kind'> {
    const { from } = this;
    return {
      group: this.#group(),
      position: from.count(),
      attempt: from.count(),
      retryCount: from.count(),
      orphanCount: from.count(),
      correction: this.#correction(),
    };
  }

  #correction(): ChargeCorrection | undefined {
    const code = this.from.byte();
    if (code === 0) return undefined;
    const by = this.from.float();
    return { by, resource: code === 2 ? this.#record(this.from.integer(), Resource) : undefined };
  }

  #group(): Group {
    return this.#record(this.from.count(), Group);
  }

  #record<T>(number: number, type: abstract new (...args: never) => T): T {
    const record = this.state.byNumber.get(number);
    if (record instanceof type) return record;
    throw new FormatError(`A note names record ${number}, which does not exist`);
  }

  #time(): number {
    return this.atUs - this.from.integer();
  }

  #instance(): string {
    const at = this.from.count();
    const known = this.#instances[at - 1];
    if (known !== undefined) return known;
    const id = this.from.text();
    this.#instances.push(id);
    return id;
  }
}

function writeCorrection(out: ByteWriter, correction: ChargeCorrection | undefined): void {
  out.byte(correction ? (correction.resource ? 2 : 1) : 0);
  if (!correction) return;
  out.float(correction.by);
  if (correction.resource) out.integer(correction.resource.number);
}

/** Writes the definition of a group; also part of its record. */
export function writeSettings(
  out: ByteWriter,
  settings: Omit<GroupSettings, 'rps' | 'burst'>,
  rate: Pick<GroupSettings, 'rps' | 'burst'> = {},
): void {
  out.number(settings.weight);
  out.byte(LEVELS.indexOf(settings.priorityLevel));
  out.optional(rate.rps);
  out.optional(rate.burst);
  out.optional(settings.concurrency);
  out.count(settings.timeoutMs);
  out.optional(settings.deadlineMs);
  out.optional(settings.notBeforeMs);
  out.byte((settings.isOrdered ? 1 : 0) + (settings.isSealable ? 2 : 0));
}

/** Reads the definition of a group. */
export function readSettings(from: ByteReader): GroupSettings {
  const weight = from.number();
  const priorityLevel = pick(LEVELS, from.byte());
  const rps = from.optional();
  const burst = from.optional();
  const concurrency = from.optional();
  const timeoutMs = from.count();
  const deadlineMs = from.optional();
  const notBeforeMs = from.optional();
  const flags = from.byte();
  const limits = { weight, priorityLevel, rps, burst, concurrency, timeoutMs, deadlineMs, notBeforeMs };
  return { ...limits, isOrdered: (flags & 1) > 0, isSealable: (flags & 2) > 0 };
}

/** Returns the value that a stored index stands for. */
export function pick<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new FormatError(`A stored code ${index} is unknown`);
  return value;
}
