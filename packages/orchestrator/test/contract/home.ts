import { seededRng } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import { ManualClock } from '@millrace/testkit';
import {
  Envelope,
  type NewOperation,
  type Operation,
  type OwnedOperation,
  type RouteTraits,
  type RunRef,
  type Settlement,
} from '../../src/model.js';
import { OpId } from '../../src/op-id.js';
import { type FailOutcome, Outcome } from '../../src/outcome.js';
import type { AcceptAnswer, OperationStore } from '../../src/ports.js';

/** A store whose time stands still until the test moves it. */
export interface OpenStore {
  readonly store: OperationStore;
  /** Empties the store. */
  clear(): Promise<void>;
  /** Moves the time of the store; backwards too. */
  moveTime(ms: number): Promise<void>;
  /** Runs something in a transaction of the store's database, where there is one. */
  transaction<T>(fn: (tx: Tx | undefined) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** One kind of store. */
export interface StorePlace {
  readonly kind: 'memory' | 'pglite' | 'postgres';
  open(): Promise<OpenStore>;
}

/** A theme of the contract. */
export type StoreSuite = (home: () => Home, kind: StorePlace['kind']) => void;

export const LEASE_MS = 1_000;
export const KEY_TTL_MS = 60_000;
export const OWNER = 'one';

type Final = Extract<Settlement, { kind: 'final' }>;
type Retry = Extract<Settlement, { kind: 'retry' }>;

export const OK: Final = {
  kind: 'final',
  state: 'COMPLETED',
  outcome: Outcome.ok({ paid: true }),
  deadLetter: false,
};
export const FAIL: Final = {
  kind: 'final',
  state: 'FAILED',
  outcome: Outcome.fail('NO_MONEY', 'there is none'),
  deadLetter: true,
};
export const RETRY: Retry = {
  kind: 'retry',
  outcome: Outcome.retry({ reason: 'BUSY', attemptCount: 1, nextRetryAfterMs: 500 }),
  delayMs: 500,
  refused: false,
};
export const REFUSED: Retry = { ...RETRY, refused: true };
export const BACKED: Settlement = { kind: 'backed', backing: { kind: 'bulk', ref: 'group-1' } };
export const RELEASED: Settlement = { kind: 'released' };
export const CANCELLED: FailOutcome = Outcome.fail('CANCELLED', 'The operation was cancelled');

/** What a test may want of an operation. */
export interface Wish extends Partial<RouteTraits> {
  readonly opId?: OpId;
  readonly tenant?: string;
  readonly traceparent?: string;
  readonly domain?: string;
  readonly eventType?: string;
  readonly bizKey?: string;
  readonly idemKey?: string;
  readonly payload?: unknown;
  readonly bodyHash?: string;
  readonly owner?: string;
  readonly leaseMs?: number;
  readonly keyTtlMs?: number;
}

/** What the tests of one store work with. */
export class Home {
  readonly #opened: OpenStore;
  readonly #ids = new ManualClock();
  readonly #rng = seededRng('contract');

  constructor(opened: OpenStore) {
    this.#opened = opened;
  }

  get store(): OperationStore {
    return this.#opened.store;
  }

  transaction<T>(fn: (tx: Tx | undefined) => Promise<T>): Promise<T> {
    return this.#opened.transaction(fn);
  }

  moveTime(ms: number): Promise<void> {
    return this.#opened.moveTime(ms);
  }

  /** A new id; later ones are higher. */
  nextId(): OpId {
    this.#ids.jump(1);
    return OpId.next(this.#ids, this.#rng);
  }

  /** An operation to be accepted. */
  wish(wish: Wish = {}): NewOperation {
    const opId = wish.opId ?? this.nextId();
    const { domain = 'ORDER', eventType = 'PLACE', bizKey = 'order-1', idemKey = opId } = wish;
    const { payload = { n: 1 }, tenant, traceparent } = wish;
    const { kind = 'inline', attemptsMax = 3, onLost = 'retry', idempotent = false } = wish;
    const command = { domain, eventType, bizKey, idemKey, payload };
    return {
      envelope: Envelope.now(opId, command, { tenant, traceparent, clock: this.#ids }),
      traits: { kind, attemptsMax, onLost, idempotent },
      bodyHash: wish.bodyHash ?? 'hash',
      owner: wish.owner ?? OWNER,
      leaseMs: wish.leaseMs ?? LEASE_MS,
      keyTtlMs: wish.keyTtlMs ?? KEY_TTL_MS,
    };
  }

  accept(wish: Wish = {}): Promise<AcceptAnswer> {
    return this.store.runs.accept(this.wish(wish));
  }

  /** Accepts an operation; PENDING and owned. */
  async pending(wish: Wish = {}): Promise<RunRef> {
    const given = this.wish(wish);
    const answer = await this.store.runs.accept(given);
    if (answer.kind !== 'accepted') throw new Error(`expected a new operation, got ${answer.kind}`);
    return { opId: given.envelope.opId, token: answer.token };
  }

  /** IN_PROGRESS and owned. */
  async running(wish: Wish = {}): Promise<RunRef> {
    const ref = await this.pending(wish);
    await this.store.runs.begin([ref]);
    return ref;
  }

  /** Brought somewhere by a settlement of its first try. */
  async settled(settlement: Settlement, wish: Wish = {}): Promise<RunRef> {
    const ref = await this.running(wish);
    const { kind } = await this.store.runs.settle(ref, settlement);
    if (kind !== 'settled') throw new Error(`expected the settlement to be taken, got ${kind}`);
    return ref;
  }

  async get(opId: OpId): Promise<Operation> {
    const operation = await this.store.views.get(opId);
    if (!operation) throw new Error(`there is no operation ${opId}`);
    return operation;
  }

  claim(limit = 10, routes?: readonly string[]): Promise<readonly OwnedOperation[]> {
    return this.store.runs.claim({ owner: 'two', leaseMs: LEASE_MS, limit, ...(routes && { routes }) });
  }
}
