import { randomUUID } from 'node:crypto';
import { type Clock, TIMED_OUT, withDeadline } from '@millrace/foundation';
import { ERRORS as DATABASE_ERRORS } from '@millrace/postgres';
import type { NewOperation, OwnedOperation, RunRef, Settlement } from '../model.js';
import type { OpId } from '../op-id.js';
import type { AcceptAnswer, ClaimRequest, Runs, SettleAnswer } from '../ports.js';
import { FIRST_TOKEN } from '../rules/operation-record.js';
import { type WrittenSettlement, writtenSettlement } from '../rules/settle-operation.js';
import { boundedDelayMs, toStoredJson } from '../stored-json.js';
import { GroupedCalls } from './grouped-calls.js';
import {
  isThere,
  type MaybeRow,
  type OperationRow,
  rowToOperation,
  rowToOwned,
  type SettledRow,
  toSettleAnswer,
} from './rows.js';
import type { StatementCalls } from './statement-calls.js';

interface Acceptance {
  readonly given: NewOperation;
  readonly payloadText: string;
}

interface Writing extends WrittenSettlement {
  readonly ref: RunRef;
}

type AcceptRow = MaybeRow & {
  readonly ix: number;
  readonly answer: 'accepted' | 'known' | 'conflict' | 'again';
};

/** Approximate size of a row without its texts. */
const ROW_BYTES = 500;

/** The runs of a PostgreSQL store. */
export class PostgresRuns implements Runs {
  readonly #calls: StatementCalls;
  readonly #clock: Clock;
  readonly #accepts: GroupedCalls<Acceptance, AcceptRow>;
  readonly #begins: GroupedCalls<RunRef, undefined>;
  readonly #settles: GroupedCalls<Writing, SettleAnswer>;

  /** @param clock - limits the waits of callers. Times of operations come from PostgreSQL. */
  constructor(calls: StatementCalls, clock: Clock) {
    this.#calls = calls;
    this.#clock = clock;
    this.#accepts = new GroupedCalls({
      operation: 'accept',
      send: (items) => this.#sendAccepts(items),
      keyOf: ({ given }) => given.envelope.opId,
      bytesOf: ({ payloadText }) => payloadText.length + ROW_BYTES,
    });
    this.#begins = new GroupedCalls({
      operation: 'begin',
      send: (items) => this.#sendBegins(items),
      keyOf: ({ opId }) => opId,
      bytesOf: () => ROW_BYTES,
    });
    this.#settles = new GroupedCalls({
      operation: 'settle',
      send: (items) => this.#sendSettles(items),
      keyOf: ({ ref }) => ref.opId,
      bytesOf: ({ outcomeText }) => (outcomeText?.length ?? 0) + ROW_BYTES,
    });
  }

  async accept(given: NewOperation, timeoutMs?: number): Promise<AcceptAnswer> {
    const item = { given, payloadText: toStoredJson(given.envelope.command.payload) };
    if (timeoutMs === undefined) return this.#accept(item);
    const pending = this.#accepts.add(item);
    const answer = pending.answer.then((row) => this.#accepted(item, row));
    const result = await withDeadline(this.#clock, timeoutMs, answer);
    if (result !== TIMED_OUT) return result;
    pending.giveUp();
    const reason = `it took longer than ${timeoutMs} ms`;
    throw DATABASE_ERRORS.create('BACKEND_UNAVAILABLE', { operation: 'accept', reason });
  }

  async begin(refs: readonly RunRef[]): Promise<void> {
    await Promise.all(refs.map((ref) => this.#begins.add(ref).answer));
  }

  async settle(ref: RunRef, settlement: Settlement): Promise<SettleAnswer> {
    return this.#settles.add({ ref, ...writtenSettlement(ref.token, settlement) }).answer;
  }

  async extend(refs: readonly RunRef[], leaseMs: number): Promise<ReadonlySet<OpId>> {
    if (refs.length === 0) return new Set();
    const params = [refs.map(({ opId }) => opId), refs.map(({ token }) => token), leaseMs];
    const rows = await this.#calls.rows<{ op_id: OpId }>('extend', params);
    return new Set(rows.map(({ op_id }) => op_id));
  }

  async claim({ owner, leaseMs, limit, routes }: ClaimRequest): Promise<readonly OwnedOperation[]> {
    // Repeated with the same name after a lost reply, it returns the operations of the first claim.
    const params = [owner, leaseMs, limit, routes && [...new Set(routes)], randomUUID()];
    const rows = await this.#calls.rows<OperationRow & { payload: string }>('claim', params);
    return rows.map(rowToOwned);
  }

  /** Waits for the replies of all calls. */
  async drain(): Promise<void> {
    await Promise.all([this.#accepts.drain(), this.#begins.drain(), this.#settles.drain()]);
  }

  async #accept(item: Acceptance): Promise<AcceptAnswer> {
    return this.#accepted(item, await this.#accepts.add(item).answer);
  }

  #accepted(item: Acceptance, row: AcceptRow): AcceptAnswer | Promise<AcceptAnswer> {
    if (row.answer === 'accepted') return { kind: 'accepted', token: FIRST_TOKEN };
    // The operation that had the key was deleted between two reads, so the key is free now.
    if (row.answer === 'again') return this.#accept(item);
    if (row.answer === 'known' && isThere(row)) return { kind: 'known', operation: rowToOperation(row) };
    return { kind: 'conflict', opId: row.op_id ?? item.given.envelope.opId };
  }

  async #sendAccepts(items: readonly Acceptance[]): Promise<readonly AcceptRow[]> {
    const given = items.map((item) => item.given);
    const envelopes = given.map(({ envelope }) => envelope);
    const commands = envelopes.map(({ command }) => command);
    const traits = given.map((one) => one.traits);
    const rows = await this.#calls.rows<AcceptRow>('accept', [
      envelopes.map(({ opId }) => opId),
      envelopes.map(({ tenant }) => tenant),
      commands.map(({ domain }) => domain),
      commands.map(({ eventType }) => eventType),
      commands.map(({ bizKey }) => bizKey),
      commands.map(({ idemKey }) => idemKey),
      given.map(({ bodyHash }) => bodyHash),
      items.map(({ payloadText }) => payloadText),
      envelopes.map(({ traceparent }) => traceparent),
      traits.map(({ kind }) => kind),
      traits.map(({ attemptsMax }) => attemptsMax),
      traits.map(({ onLost }) => onLost),
      traits.map(({ idempotent }) => idempotent),
      given.map(({ owner }) => owner),
      given.map(({ leaseMs }) => leaseMs),
      given.map(({ keyTtlMs }) => keyTtlMs),
    ]);
    return inOrder(rows);
  }

  async #sendBegins(refs: readonly RunRef[]): Promise<readonly undefined[]> {
    await this.#calls.rows('begin', [refs.map(({ opId }) => opId), refs.map(({ token }) => token)]);
    return [];
  }

  async #sendSettles(items: readonly Writing[]): Promise<readonly SettleAnswer[]> {
    const parts = items.map(({ settlement }) => settlementParts(settlement));
    const rows = await this.#calls.rows<SettledRow & { ix: number }>('settle', [
      items.map(({ ref }) => ref.opId),
      items.map(({ ref }) => ref.token),
      items.map(({ settlement }) => settlement.kind),
      parts.map(({ state }) => state),
      items.map(({ outcomeText }) => outcomeText),
      parts.map(({ deadLetter }) => deadLetter),
      parts.map(({ delayMs }) => delayMs),
      parts.map(({ refused }) => refused),
      parts.map(({ backing }) => backing?.kind),
      parts.map(({ backing }) => backing?.ref),
      items.map(({ mark }) => mark),
    ]);
    return inOrder(rows).map(toSettleAnswer);
  }
}

const inOrder = <R extends { readonly ix: number }>(rows: readonly R[]): readonly R[] =>
  rows.toSorted((one, other) => one.ix - other.ix);

/** The columns of a settlement. Each kind has its own. */
function settlementParts(settlement: Settlement) {
  const none = {
    state: undefined,
    deadLetter: false,
    delayMs: undefined,
    refused: false,
    backing: undefined,
  };
  switch (settlement.kind) {
    case 'final':
      return { ...none, state: settlement.state, deadLetter: settlement.deadLetter };
    case 'retry':
      return { ...none, delayMs: boundedDelayMs(settlement.delayMs), refused: settlement.refused };
    case 'backed':
      return { ...none, backing: settlement.backing };
    case 'released':
      return { ...none, delayMs: 0 };
  }
}
