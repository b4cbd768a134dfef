import type { Rng } from '@millrace/foundation';
import {
  Envelope,
  type NewOperation,
  type OperationFilter,
  type RunRef,
  type Settlement,
} from '../../src/model.js';
import type { OpId } from '../../src/op-id.js';
import type { OperationStore } from '../../src/ports.js';
import { OPERATION_STATES } from '../../src/states.js';
import { BACKED, CANCELLED, FAIL, OK, REFUSED, RELEASED, RETRY } from '../contract/home.js';

/** One call, made on both stores. */
export interface Command {
  readonly verb: string;
  /** For people who look at a difference. */
  readonly args: unknown;
  run(store: OperationStore): Promise<unknown>;
  /** What kind of answer it was. */
  kindOf(answer: never): string;
}

/** What commands are drawn from. */
export interface Deck {
  readonly rng: Rng;
  nextId(): OpId;
  /** Everything that was accepted, and how it was asked for. */
  readonly accepted: NewOperation[];
  /** Settlements that were sent: some are sent again. */
  readonly sent: { readonly ref: RunRef; readonly settlement: Settlement }[];
  /** The highest token that anybody was given. */
  readonly tokens: Map<OpId, number>;
}

type Draw = (deck: Deck) => Command;

const SETTLEMENTS: readonly Settlement[] = [
  OK,
  FAIL,
  { ...RETRY, delayMs: 0 },
  { ...RETRY, delayMs: 300 },
  { ...REFUSED, delayMs: 50 },
  BACKED,
  { kind: 'backed', backing: { kind: 'batch', ref: 'b' } },
  RELEASED,
];

const hasKind = ({ kind }: { readonly kind: string }): string => kind;
const hasSome = (found: { readonly length: number }): string => (found.length > 0 ? 'some' : 'none');
const hasWaited = (answer: { readonly kind: string; readonly waited?: boolean }): string =>
  answer.waited ? `${answer.kind}, waited` : answer.kind;

/** An id that was accepted, mostly one of the latest: much has to happen to one operation. Seldom one that nobody knows. */
const anId = ({ rng, accepted, nextId }: Deck): OpId =>
  accepted.length === 0 || rng.chance(0.03)
    ? nextId()
    : rng.pick(rng.chance(0.8) ? accepted.slice(-2) : accepted).envelope.opId;

/** The latest owner, mostly. */
function aRef(deck: Deck): RunRef {
  const opId = anId(deck);
  const token = deck.tokens.get(opId) ?? 1;
  return { opId, token: deck.rng.chance(0.85) ? token : Math.max(0, token + deck.rng.pick([-1, 1])) };
}

const accept: Draw = ({ rng, accepted, nextId, tokens }) => {
  const isRepeated = accepted.length > 0 && rng.chance(0.1);
  const opId = accepted.length > 0 && rng.chance(0.03) ? rng.pick(accepted).envelope.opId : nextId();
  const command = {
    domain: rng.pick(['ORDER', 'MAIL']),
    eventType: rng.pick(['PLACE', 'PLACE', 'DROP']),
    bizKey: rng.pick(['a', 'b']),
    idemKey: rng.pick(['1', '2', '3']),
    payload: { n: rng.integer(0, 9) },
  };
  const traits = {
    kind: rng.pick(['inline', 'inline', 'bulk']),
    attemptsMax: rng.integer(1, 3),
    onLost: rng.pick(['retry', 'retry', 'fail'] as const),
    idempotent: rng.chance(0.5),
  };
  const given: NewOperation = isRepeated
    ? rng.pick(accepted)
    : {
        envelope: Envelope.now(opId, command, { tenant: rng.pick(['', 'acme']) }),
        traits,
        bodyHash: rng.pick(['x', 'x', 'x', 'y']),
        owner: rng.pick(['one', 'two']),
        leaseMs: rng.pick([0, 100, 1_000]),
        keyTtlMs: rng.pick([0, 500, 1_000_000]),
      };
  return {
    verb: isRepeated ? 'accept again' : 'accept',
    args: given,
    run: (store) => store.runs.accept(given),
    kindOf: ({ kind }: { kind: string }) => {
      if (kind === 'accepted' && !isRepeated) {
        accepted.push(given);
        if (!tokens.has(given.envelope.opId)) tokens.set(given.envelope.opId, 1);
      }
      return kind;
    },
  };
};

const begin: Draw = (deck) => {
  const refs = [aRef(deck), aRef(deck)];
  return { verb: 'begin', args: refs, run: (store) => store.runs.begin(refs), kindOf: () => 'done' };
};

const settle: Draw = (deck) => {
  const { rng, sent } = deck;
  const isRepeated = sent.length > 0 && rng.chance(0.15);
  const call = isRepeated ? rng.pick(sent) : { ref: aRef(deck), settlement: rng.pick(SETTLEMENTS) };
  sent.push(call);
  return {
    verb: isRepeated ? 'settle again' : `settle ${call.settlement.kind}`,
    args: call,
    run: (store) => store.runs.settle(call.ref, call.settlement),
    kindOf: hasWaited,
  };
};

const extend: Draw = (deck) => {
  const refs = [aRef(deck), aRef(deck)];
  const leaseMs = deck.rng.pick([0, 200]);
  return {
    verb: 'extend',
    args: { refs, leaseMs },
    run: (store) => store.runs.extend(refs, leaseMs),
    kindOf: ({ size }: { size: number }) => (size > 0 ? 'lost' : 'held'),
  };
};

const claim: Draw = ({ rng, tokens }) => {
  const routes = rng.pick([undefined, undefined, ['ORDER.PLACE'], ['MAIL.PLACE', 'ORDER.DROP'], []]);
  const request = {
    owner: rng.pick(['one', 'two']),
    leaseMs: rng.pick([0, 100, 1_000]),
    limit: rng.integer(1, 3),
    ...(routes && { routes }),
  };
  return {
    verb: 'claim',
    args: request,
    run: (store) => store.runs.claim(request),
    kindOf: (claimed: readonly RunRef[]) => {
      for (const { opId, token } of claimed) tokens.set(opId, token);
      return hasSome(claimed);
    },
  };
};

const repairs: Readonly<Record<string, Draw>> = {
  backed: (deck) => {
    const kind = deck.rng.pick(['bulk', 'batch']);
    const after = deck.rng.chance(0.3) ? anId(deck) : undefined;
    const run = (store: OperationStore) => store.repairs.backed(kind, after, 2);
    return { verb: 'backed', args: { kind, after }, run, kindOf: hasSome };
  },
  endBacked: (deck) => {
    const opId = anId(deck);
    const ending = deck.rng.pick([OK, FAIL]);
    const run = (store: OperationStore) => store.repairs.endBacked(opId, ending);
    return { verb: 'endBacked', args: { opId, ending }, run, kindOf: hasWaited };
  },
  dropBacking: (deck) => {
    const opId = anId(deck);
    return {
      verb: 'dropBacking',
      args: opId,
      run: (store) => store.repairs.dropBacking(opId),
      kindOf: String,
    };
  },
  cancel: (deck) => {
    const opId = anId(deck);
    const run = (store: OperationStore) => store.repairs.cancel(opId, CANCELLED);
    return { verb: 'cancel', args: opId, run, kindOf: hasWaited };
  },
  ahead: () => {
    const run = async ({ repairs }: OperationStore) => {
      const first = await repairs.ahead(2);
      return [...first, ...(await repairs.ahead(1, first.at(-1)?.opId))];
    };
    return { verb: 'ahead', args: 2, run, kindOf: hasSome };
  },
  finalize: (deck) => {
    const opId = anId(deck);
    return { verb: 'finalize', args: opId, run: (store) => store.repairs.finalize(opId), kindOf: hasKind };
  },
  reap: ({ rng }) => {
    const limit = rng.integer(1, 4);
    const kindOf = (reaped: readonly { became: string }[]) =>
      [...new Set(reaped.map(({ became }) => became))].sort().join(' and ') || 'none';
    return { verb: 'reap', args: limit, run: (store) => store.repairs.reap(limit), kindOf };
  },
  prune: ({ rng }) => {
    const retentionMs = rng.pick([0, 2_000]);
    const run = (store: OperationStore) => store.repairs.prune(retentionMs, 2);
    return {
      verb: 'prune',
      args: retentionMs,
      run,
      kindOf: (count: number) => (count > 0 ? 'some' : 'none'),
    };
  },
};

const ifOverdue = ({ oldestDueMs }: { oldestDueMs: number }) =>
  oldestDueMs > 0 ? 'overdue' : 'none overdue';

const views: Readonly<Record<string, Draw>> = {
  get: (deck) => {
    const opId = anId(deck);
    const kindOf = (found: unknown) => (found ? 'there' : 'gone');
    return { verb: 'get', args: opId, run: (store) => store.views.get(opId), kindOf };
  },
  watch: (deck) => {
    const ids = [anId(deck), anId(deck)];
    const waitMs = deck.rng.pick([0, 100, 1_000]);
    const run = (store: OperationStore) => store.views.watch(ids, waitMs);
    return { verb: 'watch', args: { ids, waitMs }, run, kindOf: hasSome };
  },
  list: (deck) => {
    const { rng } = deck;
    const maybe = <T>(value: T): T | undefined => (rng.chance(0.25) ? value : undefined);
    const filter: OperationFilter = {
      tenant: maybe('acme'),
      domain: maybe('MAIL'),
      eventType: maybe('DROP'),
      bizKey: maybe('a'),
      state: maybe(rng.pick(OPERATION_STATES)),
      deadLetter: maybe(true),
    };
    const cursor = maybe(anId(deck));
    const run = (store: OperationStore) => store.views.list(filter, 3, cursor);
    const kindOf = ({ cursor: next }: { cursor: string | undefined }) => (next ? 'more' : 'last');
    return { verb: 'list', args: { filter, cursor }, run, kindOf };
  },
  counts: () => ({
    verb: 'counts',
    args: undefined,
    run: (store) => store.views.counts(),
    kindOf: ifOverdue,
  }),
  openCounts: () => ({
    verb: 'openCounts',
    args: undefined,
    run: (store) => store.views.openCounts(),
    kindOf: ifOverdue,
  }),
};

/** How often each is drawn, against each other. */
const DRAWS: readonly (readonly [weight: number, draw: Draw])[] = [
  [10, accept],
  [6, begin],
  [24, settle],
  [4, extend],
  [12, claim],
  ...Object.values(repairs).map((draw) => [4, draw] as const),
  ...Object.values(views).map((draw) => [4, draw] as const),
  [4, views.watch as Draw],
];
const TOTAL = DRAWS.reduce((sum, [weight]) => sum + weight, 0);

/** Draws the next call. */
export function drawCommand(deck: Deck): Command {
  let left = deck.rng.next() * TOTAL;
  for (const [weight, draw] of DRAWS) {
    left -= weight;
    if (left < 0) return draw(deck);
  }
  return accept(deck);
}

/** Every answer that must have been given at least once: a test that never gets there proves nothing about it. */
export const WANTED: readonly string[] = [
  ...['accepted', 'known', 'conflict'].map((kind) => `accept: ${kind}`),
  'accept again: accepted',
  'begin: done',
  ...['final', 'retry', 'backed', 'released'].flatMap((kind) => [
    `settle ${kind}: settled`,
    `settle ${kind}: settled, waited`,
    `settle ${kind}: refused`,
  ]),
  ...['settled', 'refused'].map((kind) => `settle again: ${kind}`),
  ...['lost', 'held'].map((kind) => `extend: ${kind}`),
  ...['claim', 'backed', 'ahead', 'prune', 'watch'].flatMap((verb) => [`${verb}: some`, `${verb}: none`]),
  ...['settled', 'settled, waited', 'refused'].map((kind) => `endBacked: ${kind}`),
  ...['true', 'false'].map((kind) => `dropBacking: ${kind}`),
  ...['cancelled', 'cancelled, waited', 'ahead', 'ended', 'unknown'].map((kind) => `cancel: ${kind}`),
  ...['settled', 'refused'].map((kind) => `finalize: ${kind}`),
  ...['released', 'failed', 'failed and released', 'none'].map((kind) => `reap: ${kind}`),
  ...['there', 'gone'].map((kind) => `get: ${kind}`),
  ...['more', 'last'].map((kind) => `list: ${kind}`),
  ...['counts', 'openCounts'].flatMap((verb) => [`${verb}: overdue`, `${verb}: none overdue`]),
];
