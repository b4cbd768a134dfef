import { readdirSync } from 'node:fs';
import { latch, type TcpProxy } from '@millrace/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpId } from '../../src/op-id.js';
import { Statements } from '../../src/postgres/statement-calls.js';
import { BACKED, CANCELLED, type Home, KEY_TTL_MS, LEASE_MS, OK, RELEASED, RETRY } from '../contract/home.js';
import { SCHEMA } from '../open-store.js';
import { openWorld, type World } from './world.js';

const BULK = { kind: 'bulk' } as const;

/** Finds chunks that carry a statement: its text when it is parsed, its name when it is known already. */
function carries(verb: string): (chunk: Buffer) => boolean {
  const { sql, name } = new Statements(SCHEMA).get(verb);
  return (chunk) => chunk.includes(sql) || chunk.includes(`${name}\0`);
}

type Case = (home: Home, lose: () => void) => Promise<void>;

/** For every statement: what a caller must see although the first reply is lost. */
const CASES: Readonly<Record<string, Case>> = {
  accept: async (home, lose) => {
    lose();
    const given = home.wish({ idemKey: 'lost' });
    expect(await home.store.runs.accept(given)).toEqual({ kind: 'accepted', token: 1 });
    expect(await home.get(given.envelope.opId)).toMatchObject({ state: 'PENDING', attempts: 1 });
    expect(await home.accept({ idemKey: 'lost' })).toMatchObject({
      kind: 'known',
      operation: { opId: given.envelope.opId },
    });
  },
  begin: async (home, lose) => {
    const ref = await home.pending();
    lose();
    await home.store.runs.begin([ref]);
    expect(await home.get(ref.opId)).toMatchObject({ state: 'IN_PROGRESS', attempts: 1 });
  },
  settle: async (home, lose) => {
    const refs = await Promise.all([home.running(), home.running(), home.running()]);
    lose();
    const answers = await Promise.all(
      [OK, RETRY, RELEASED].map((one, n) => home.store.runs.settle(refs[n] as never, one)),
    );
    expect(answers).toMatchObject([
      { kind: 'settled', operation: { state: 'COMPLETED', attempts: 1 } },
      { kind: 'settled', operation: { state: 'IN_PROGRESS', attempts: 1 } },
      { kind: 'settled', operation: { state: 'IN_PROGRESS', attempts: 0 } },
    ]);
    for (const { opId } of refs) await home.store.repairs.cancel(opId, CANCELLED);
  },
  extend: async (home, lose) => {
    const ref = await home.running();
    lose();
    expect(await home.store.runs.extend([ref, { ...ref, opId: home.nextId() }], LEASE_MS)).toHaveLength(1);
  },
  claim: async (home, lose) => {
    const { opId } = await home.settled(RELEASED);
    lose();
    const claimed = await home.claim();
    expect(claimed).toMatchObject([{ opId, token: 2, attempt: 1 }]);
    expect(await home.get(opId)).toMatchObject({ owner: 'two', attempts: 1 });
    expect(await home.store.runs.settle({ opId, token: 2 }, OK)).toMatchObject({ kind: 'settled' });
  },
  backed: async (home, lose) => {
    const { opId } = await home.settled(BACKED, BULK);
    lose();
    expect(await home.store.repairs.backed('bulk', undefined, 9)).toMatchObject([{ opId }]);
    await home.store.repairs.endBacked(opId, OK);
  },
  'end-backed': async (home, lose) => {
    const { opId } = await home.settled(BACKED, BULK);
    lose();
    expect(await home.store.repairs.endBacked(opId, OK)).toMatchObject({
      kind: 'settled',
      operation: { state: 'COMPLETED' },
    });
  },
  'drop-backing': async (home, lose) => {
    const { opId } = await home.settled(BACKED, BULK);
    lose();
    // Whether it was this call or the lost one that changed it is not known; that it is changed is.
    await home.store.repairs.dropBacking(opId);
    expect(await home.get(opId)).toMatchObject({ backing: undefined, state: 'IN_PROGRESS' });
    expect(await home.claim()).toMatchObject([{ opId, attempt: 2 }]);
  },
  cancel: async (home, lose) => {
    const { opId } = await home.running();
    lose();
    expect(await home.store.repairs.cancel(opId, CANCELLED)).toMatchObject({
      kind: 'cancelled',
      operation: { state: 'FAILED' },
    });
  },
  ahead: async (home, lose) => {
    const { opId } = await home.settled(BACKED, BULK);
    await home.store.repairs.cancel(opId, CANCELLED);
    lose();
    expect(await home.store.repairs.ahead(9)).toMatchObject([{ opId }]);
    await home.store.repairs.finalize(opId);
  },
  finalize: async (home, lose) => {
    const { opId } = await home.settled(BACKED, BULK);
    await home.store.repairs.cancel(opId, CANCELLED);
    lose();
    expect(await home.store.repairs.finalize(opId)).toMatchObject({
      kind: 'settled',
      operation: { state: 'FAILED' },
    });
  },
  reap: async (home, lose) => {
    const refs = await Promise.all([
      home.running({ leaseMs: 0 }),
      home.running({ leaseMs: 0, onLost: 'fail' }),
    ]);
    lose();
    await home.store.repairs.reap(9);
    const [released, failed] = await Promise.all(refs.map(({ opId }) => home.get(opId)));
    expect(released).toMatchObject({ state: 'IN_PROGRESS', owner: undefined, attempts: 1 });
    expect(failed).toMatchObject({ state: 'FAILED', deadLetter: true });
    await home.store.repairs.cancel(refs[0].opId, CANCELLED);
  },
  prune: async (home, lose) => {
    const { opId } = await home.settled(OK);
    const open = await home.running();
    lose();
    await home.store.repairs.prune(0, 1_000);
    expect(await home.store.views.get(opId)).toBeUndefined();
    expect(await home.store.views.get(open.opId)).toBeDefined();
  },
  get: async (home, lose) => {
    const { opId } = await home.running();
    lose();
    expect(await home.get(opId)).toMatchObject({ opId });
  },
  watch: async (home, lose) => {
    const ref = await home.running();
    lose();
    expect(await home.store.views.watch([ref.opId], 60_000)).toMatchObject([{ state: 'IN_PROGRESS' }]);
    expect(await home.store.runs.settle(ref, OK)).toMatchObject({ waited: true });
  },
  list: async (home, lose) => {
    const { opId } = await home.running({ bizKey: 'list' });
    lose();
    expect((await home.store.views.list({ bizKey: 'list' }, 9, undefined)).items).toMatchObject([{ opId }]);
  },
  'list-open': async (home, lose) => {
    const { opId } = await home.running({ bizKey: 'list-open' });
    lose();
    const { items } = await home.store.views.list(
      { bizKey: 'list-open', state: 'IN_PROGRESS' },
      9,
      undefined,
    );
    expect(items).toMatchObject([{ opId }]);
  },
  counts: async (home, lose) => {
    await home.running();
    lose();
    expect((await home.store.views.counts()).byState.IN_PROGRESS).toBeGreaterThan(0);
  },
  'open-counts': async (home, lose) => {
    await home.running();
    lose();
    expect((await home.store.views.openCounts()).byState.IN_PROGRESS).toBeGreaterThan(0);
  },
};

describe('a reply that is lost after the statement was executed', () => {
  let world: World;
  let proxy: TcpProxy;
  let home: Home;
  beforeAll(async () => {
    world = await openWorld();
    proxy = await world.startProxy();
    home = await world.join(proxy);
  }, 60_000);
  afterAll(() => world.end());

  it.each(Object.entries(CASES))(
    'orchestrator NFR-2: of %s: the caller sees what happened, and it happened once',
    async (verb, run) => {
      let lost: Promise<void> | undefined;
      await run(home, () => {
        lost = proxy.cutAfterRequest(carries(verb));
      });
      await lost;
    },
  );

  it('orchestrator NFR-2: no statement is forgotten here', () => {
    const all = readdirSync(new URL('../../sql/verbs/', import.meta.url)).map((file) =>
      file.replace(/\.sql$/, ''),
    );
    expect(Object.keys(CASES).sort()).toEqual(all.sort());
  });

  it('orchestrator FR-3: an accept ends at its time although the statement is still on its way', async () => {
    const given = home.wish({ keyTtlMs: KEY_TTL_MS });
    proxy.pause();
    await expect(home.store.runs.accept(given, 30)).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    proxy.resume();
    expect(await home.store.runs.accept(given)).toEqual({ kind: 'accepted', token: 1 });
  });

  it('orchestrator NFR-3: notices come from other instances, and what is none is passed over', async () => {
    const other = await world.join();
    const heard = latch<OpId>('the notice');
    const unhear = home.store.notices.hear(heard.open);
    const opId = home.nextId();
    // The listening connection may have been cut with the others, and what is sent meanwhile is lost.
    const telling = setInterval(() => other.store.notices.tell(opId), 50);
    try {
      expect(await heard.wait(15_000)).toBe(opId);
    } finally {
      clearInterval(telling);
      unhear();
    }
  });
});
