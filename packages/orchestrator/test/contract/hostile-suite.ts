import { expect, it } from 'vitest';
import { Outcome } from '../../src/outcome.js';
import { OK, RELEASED, type StoreSuite } from './home.js';

const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

/** Payloads that have broken stores elsewhere. */
const PAYLOADS: Readonly<Record<string, unknown>> = {
  null: null,
  'an empty text': '',
  'NUL characters': { 'a\0b': 'c\0d' },
  'half a surrogate pair': ['\ud800', { '\udc00': '\udfff\ud800' }],
  'three thousand levels': deep(3_000),
  'a mebibyte': 'x'.repeat(1_048_574),
  'quotes and backslashes': ['\\', '"', "'", '\\u0000', '{}', '{"a":1}', '\u2028'],
  'numbers at their limits': [0, -0.5, 1e308, 5e-324, Number.MAX_SAFE_INTEGER],
  'names of Object.prototype': { constructor: { prototype: 1 }, toString: 1, hasOwnProperty: 2 },
};

const NAMES = [
  '__proto__',
  'constructor',
  "'; DROP TABLE operation; --",
  '{a,b}',
  '\\N',
  'NULL',
  '%',
  '🙂'.repeat(20),
];

export const hostileSuite: StoreSuite = (home, kind) => {
  it.each(Object.entries(PAYLOADS))(
    'orchestrator NFR-2: a payload of %s comes back as it was',
    async (_, payload) => {
      await home().settled(RELEASED, { payload });
      const [claimed] = await home().claim();
      // Compared as text: a comparison that walks thousands of levels down has no stack left.
      expect(JSON.stringify(claimed?.envelope.command.payload)).toBe(JSON.stringify(payload));
    },
  );

  it.each(Object.entries(PAYLOADS))(
    'orchestrator NFR-2: an outcome with %s comes back as it was',
    async (_, data) => {
      const ref = await home().running();
      const { operation } = await home().store.runs.settle(ref, { ...OK, outcome: Outcome.ok(data) });
      const { outcome } = await home().get(ref.opId);
      expect(JSON.stringify(outcome)).toBe(JSON.stringify({ type: 'Ok', data }));
      expect(JSON.stringify(operation?.outcome)).toBe(JSON.stringify(outcome));
    },
  );

  it('orchestrator NFR-2: a key __proto__ changes nothing that objects inherit', async () => {
    const payload = JSON.parse('{"__proto__": {"isAdmin": true}, "a": {"__proto__": 1, "b": 2}}');
    const ref = await home().settled(RELEASED, { payload });
    const [claimed] = await home().claim();
    expect(claimed?.envelope.command.payload).toEqual({ a: { b: 2 } });
    const outcome = Outcome.ok(payload);
    const answer = await home().store.runs.settle({ ...ref, token: 2 }, { ...OK, outcome });
    expect(answer.operation?.outcome).toEqual(Outcome.ok({ a: { b: 2 } }));
    expect(Object.hasOwn(Object.prototype, 'isAdmin')).toBe(false);
  });

  it('orchestrator NFR-2: ten thousand levels are kept or refused, and never half', async () => {
    // How deep JSON.stringify gets depends on the stack that is left.
    const ref = await home().running();
    const before = await home().get(ref.opId);
    const settling = home().store.runs.settle(ref, { ...OK, outcome: Outcome.ok(deep(10_000)) });
    const refusal = await settling.then(() => undefined).catch((error: { code: string }) => error.code);
    if (refusal === undefined) expect((await home().get(ref.opId)).state).toBe('COMPLETED');
    else expect([refusal, await home().get(ref.opId)]).toEqual(['OUTCOME_INVALID', before]);
    const idemKey = 'deep';
    const isAccepted = await home()
      .accept({ idemKey, payload: deep(10_000) })
      .then(() => true)
      .catch(() => false);
    expect((await home().accept({ idemKey })).kind).toBe(isAccepted ? 'known' : 'accepted');
  });

  it('orchestrator NFR-2: an outcome that JSON cannot carry is refused, and nothing is changed', async () => {
    const ref = await home().running();
    const before = await home().get(ref.opId);
    const bad = { ...OK, outcome: Outcome.ok(1n) };
    await expect(home().store.runs.settle(ref, bad)).rejects.toMatchObject({ code: 'OUTCOME_INVALID' });
    expect(await home().get(ref.opId)).toEqual(before);
  });

  it('orchestrator NFR-2: what a caller changes afterwards is not changed here', async () => {
    const payload = { items: ['tea'] };
    const data = { cups: 1 };
    await home().settled(RELEASED, { payload });
    payload.items.push('poison');
    const [claimed] = await home().claim();
    expect(claimed?.envelope.command.payload).toEqual({ items: ['tea'] });
    if (!claimed) throw new Error('nothing was claimed');
    await home().store.runs.settle(claimed, { ...OK, outcome: Outcome.ok(data) });
    data.cups = 9;
    const first = await home().get(claimed.opId);
    expect(first.outcome).toEqual(Outcome.ok({ cups: 1 }));
  });

  it('orchestrator NFR-2: names are only names', async () => {
    for (const name of NAMES) {
      const wish = { tenant: name, bizKey: name, idemKey: name, owner: name, traceparent: name };
      const { opId } = await home().settled({ kind: 'backed', backing: { kind: name, ref: name } }, wish);
      expect(await home().get(opId)).toMatchObject({
        tenant: name,
        bizKey: name,
        idemKey: name,
        traceparent: name,
      });
      expect(await home().accept(wish)).toMatchObject({ kind: 'known', operation: { opId } });
      expect(await home().store.repairs.backed(name, undefined, 9)).toMatchObject([
        { opId, backing: { ref: name } },
      ]);
      expect(
        (await home().store.views.list({ tenant: name, bizKey: name }, 9, undefined)).items,
      ).toHaveLength(1);
    }
    expect(await home().store.repairs.backed('toString', undefined, 9)).toEqual([]);
    expect(await home().claim(9, ['__proto__', 'toString'])).toEqual([]);
  });

  if (kind === 'memory') return;
  it('orchestrator NFR-2: one that cannot be stored does not take its neighbours with it', async () => {
    const bad = ['\ud800', 'a\0b'];
    const answers = await Promise.allSettled([
      home().pending({ bizKey: 'good' }),
      ...bad.map((bizKey) => home().pending({ bizKey })),
      home().pending({ bizKey: 'good too' }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    const refs = await Promise.all([home().running(), home().running()]);
    const settled = await Promise.allSettled([
      home().store.runs.settle(refs[0], { kind: 'backed', backing: { kind: 'bulk', ref: '\ud800' } }),
      home().store.runs.settle(refs[1], OK),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await home().get(refs[0].opId)).toMatchObject({ state: 'IN_PROGRESS', backing: undefined });
  });
};
