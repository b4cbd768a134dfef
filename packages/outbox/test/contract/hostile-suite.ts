import { seededRng } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import { recordingLogger, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { type StartOptions, task } from '../../src/index.js';
import { type ContractSuite, DEADLINE_MS, leaveMark } from './home.js';

const PAYLOAD_BYTES_MAX = 100_000;
const RNG = seededRng(1);

/** As long as allowed, three bytes each, and not to be compressed: what is hardest on an index. */
const longestText = () =>
  Array.from({ length: 500 }, () => String.fromCharCode(RNG.integer(0x4e00, 0x9fa5))).join('');

/** JSON text of exactly so many bytes. */
const ofBytes = (bytes: number): string => 'x'.repeat(bytes - 2);

function deep(levels: number): unknown {
  let value: unknown = 'the bottom';
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { in: value };
  return value;
}

const circular: Record<string, unknown> = {};
circular.self = circular;

/** Anything but a text counts as hostile here, whatever the types say. */
const anything = (value: unknown) => value as string;

const REFUSED: Record<string, { code: string; bizKey?: unknown; payload?: unknown; options?: StartOptions }> =
  {
    'an empty key': { code: 'ID_INVALID', bizKey: '' },
    'a key of 501 characters': { code: 'ID_INVALID', bizKey: 'k'.repeat(501) },
    'a key with NUL': { code: 'PARAMETER_INVALID', bizKey: 'a\0b' },
    'a key with half a surrogate pair': { code: 'PARAMETER_INVALID', bizKey: 'a\ud800b' },
    'no key': { code: 'ID_INVALID', bizKey: undefined },
    'null for a key': { code: 'ID_INVALID', bizKey: null },
    'a number for a key': { code: 'ID_INVALID', bizKey: 7 },
    'a list for a key': { code: 'ID_INVALID', bizKey: ['k'] },
    'an object that calls itself a text': { code: 'ID_INVALID', bizKey: { length: 1, toString: () => 'k' } },
    'a tenant of 501 characters': { code: 'ID_INVALID', options: { tenant: 't'.repeat(501) } },
    'a tenant with NUL': { code: 'PARAMETER_INVALID', options: { tenant: '\0' } },
    'a tenant with half a surrogate pair': { code: 'PARAMETER_INVALID', options: { tenant: '\udfff' } },
    'a key that is too long with its tenant': {
      code: 'ID_INVALID',
      bizKey: longestText(),
      options: { tenant: `${'t'.repeat(499)}ü` },
    },
    'a number for a tenant': { code: 'ID_INVALID', options: { tenant: anything(7) } },
    'a traceparent of 201 characters': { code: 'ID_INVALID', options: { traceparent: 't'.repeat(201) } },
    'a traceparent with NUL': { code: 'PARAMETER_INVALID', options: { traceparent: '\0' } },
    'a payload with NUL': { code: 'PARAMETER_INVALID', payload: { deep: ['a\0b'] } },
    'a payload with NUL in a name': { code: 'PARAMETER_INVALID', payload: { 'a\0b': 1 } },
    'a payload with half a surrogate pair': { code: 'PARAMETER_INVALID', payload: ['\ud800'] },
    'a payload with half a pair in a name': { code: 'PARAMETER_INVALID', payload: { '\udc00': 1 } },
    'a circular payload': { code: 'PARAMETER_INVALID', payload: circular },
    'a bigint': { code: 'PARAMETER_INVALID', payload: { n: 1n } },
    'a function': { code: 'PARAMETER_INVALID', payload: () => {} },
    'a payload that throws': {
      code: 'PARAMETER_INVALID',
      payload: {
        toJSON() {
          throw new Error('no');
        },
      },
    },
    'a payload of one byte too many': { code: 'BATCH_TOO_LARGE', payload: ofBytes(PAYLOAD_BYTES_MAX + 1) },
    'a payload of one byte too many, in two-byte characters': {
      code: 'BATCH_TOO_LARGE',
      payload: `${'ü'.repeat((PAYLOAD_BYTES_MAX - 2) / 2)}x`,
    },
  };

const KEPT_KEYS = {
  'one character': ' ',
  '500 characters': 'k'.repeat(500),
  __proto__: '__proto__',
  SQL: `'; DROP TABLE effect; --"\\`,
  'a template': '{schema} $1 %s',
  'control characters': '\u0001\t\r\n\u007f\u2028\ufeff',
  'pairs of surrogates': '😀'.repeat(250),
  'composed characters': 'e\u0301',
};

const KEPT_PAYLOADS: Record<string, unknown> = {
  null: null,
  false: false,
  zero: 0,
  'an empty text': '',
  'a text': 'text "quoted" \\u0000 \\ud800',
  'an empty list': [],
  'a list': [1, [2], null],
  'an object with __proto__': JSON.parse(
    '{"__proto__":{"polluted":true},"constructor":1,"a":{"__proto__":1}}',
  ),
  'names in any order': { b: 1, a: 2, 10: 3, 9: 4, '': 5 },
  'large and small numbers': [Number.MAX_SAFE_INTEGER, 1e300, 5e-324, -0.1, 1 / 3],
  'exactly the most bytes': ofBytes(PAYLOAD_BYTES_MAX),
  '1,000 levels': deep(1_000),
};

/** What hostile callers give: refused with nothing changed, or kept exactly. */
export const hostileSuite: ContractSuite = (home) => {
  it.each(Object.entries(REFUSED))('outbox OB-5: %s is refused and nothing is changed', async (_, given) => {
    const dag = home().dag({ a: task({ run: () => {} }) });
    await using outbox = await home().starter([dag], { payloadBytesMax: PAYLOAD_BYTES_MAX });
    const before = await home().counts();
    const { code, payload = {}, options } = given;
    const bizKey = 'bizKey' in given ? given.bizKey : 'k';
    await expect(outbox.pusher.start(dag.name, anything(bizKey), payload, options)).rejects.toMatchObject({
      name: 'MillraceError',
      code,
      retryable: false,
    });
    expect(await home().counts()).toEqual(before);
  });

  describe('what is kept', () => {
    it('keeps keys, tenants and payloads exactly, and hands them to the handler', async () => {
      const seen = new Map<string, unknown>();
      const dag = home().dag({
        a: task({
          run: ({ payload, batch }) => {
            seen.set(JSON.stringify([batch.tenant, batch.bizKey]), payload);
            return payload;
          },
        }),
        b: task({ after: ['a'], run: ({ inputs }) => inputs }),
      });
      await using outbox = await home().outbox([dag], { payloadBytesMax: PAYLOAD_BYTES_MAX });
      const starts = [
        ...Object.values(KEPT_KEYS).map((text) => ({
          tenant: text,
          bizKey: text,
          payload: { text } as unknown,
        })),
        { tenant: 't'.repeat(500), bizKey: longestText(), payload: 'exactly 2,000 bytes of keys' },
        ...Object.entries(KEPT_PAYLOADS).map(([bizKey, payload]) => ({ tenant: '', bizKey, payload })),
      ];
      const started = [];
      for (const { tenant, bizKey, payload } of starts) {
        const batch = await outbox.pusher.start(dag.name, bizKey, payload, { tenant });
        expect(batch).toMatchObject({ tenant, bizKey, created: true });
        expect(batch.payload).toStrictEqual(payload);
        expect(await outbox.pusher.start(dag.name, bizKey, {}, { tenant })).toMatchObject({ id: batch.id });
        started.push({ batch, tenant, bizKey, payload });
      }
      for (const { batch, tenant, bizKey, payload } of started) {
        expect(await home().ended(outbox, batch.id)).toMatchObject({ status: 'DONE' });
        expect(seen.get(JSON.stringify([tenant, bizKey]))).toStrictEqual(payload);
        const { result } = await outbox.batches.task(batch.id, 'b');
        expect(result).toStrictEqual({ a: payload });
      }
      expect(seen.size).toBe(starts.length);
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    });

    it('a payload of ten thousand levels is kept or refused, and the outbox works on', async () => {
      const dag = home().dag({ a: task({ run: ({ payload }) => JSON.stringify(payload).length }) });
      await using outbox = await home().outbox([dag]);
      const payload = deep(10_000);
      const before = await home().counts();
      const started = await outbox.pusher.start(dag.name, 'deep', payload).catch((error: unknown) => error);
      if (started instanceof Error) {
        expect(started).toMatchObject({ code: 'PARAMETER_INVALID' });
        expect(await home().counts()).toEqual(before);
      } else {
        const { id } = started as { id: string };
        expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
        expect((await outbox.batches.task(id, 'a')).result).toBe(JSON.stringify(payload).length);
      }
      const next = await outbox.pusher.start(dag.name, 'next');
      expect(await home().ended(outbox, next.id)).toMatchObject({ status: 'DONE' });
    });

    it('tasks may be called anything that is no control character, also __proto__', async () => {
      const keys = ['__proto__', 'constructor', 'a.b', '$1', `'"`, '😀', 'x'.repeat(200)];
      const dag = home().dag([
        ...keys.map((key) => [key, task({ run: ({ taskKey }) => taskKey })] as const),
        ['last', task({ after: keys, run: ({ inputs }) => Object.entries(inputs) })],
      ]);
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k');
      expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
      const { result } = await outbox.batches.task(id, 'last');
      expect(new Map(result as [string, unknown][])).toEqual(new Map(keys.map((key) => [key, key])));
      for (const key of keys)
        expect(await outbox.batches.task(id, key)).toMatchObject({ key, status: 'DONE' });
    });
  });

  describe('handlers', () => {
    it('outbox OB-6: cannot commit without their completion', async () => {
      const refusals: unknown[] = [];
      const { batch, tasks } = await home().run({
        a: task({
          retry: { retries: 0 },
          run: async ({ tx, idempotencyKey }) => {
            const commit = (scope: Tx) =>
              scope.commitWith('INSERT INTO effect (mark) VALUES ($1)', [`${idempotencyKey}:alone`]);
            await commit(tx).catch((error: unknown) => refusals.push(error));
            await tx.transaction(commit).catch((error: unknown) => refusals.push(error));
            await leaveMark(tx, `${idempotencyKey}:whole`);
            await tx.script('SELECT 1');
            return tx.xid !== undefined;
          },
        }),
      });
      expect(batch.status).toBe('DONE');
      expect(tasks.a?.result).toBe(true);
      expect(refusals).toMatchObject([
        { code: 'TX_REENTRANT', message: expect.stringContaining('the outbox commits') },
        { code: 'TX_REENTRANT' },
      ]);
      expect(await home().effects(`${batch.id}:`)).toEqual([`${batch.id}:a:whole`]);
    });

    it.each([
      ['nothing', undefined],
      ['a number', 7],
      ['a name without a dot', 'nobody'],
      ['a handler that is not there', 'nobody.has-it'],
    ])('outbox OB-7: that add a task whose handler is %s fail at once', async (_, handler) => {
      let calls = 0;
      const { batch, tasks } = await home().run({
        a: task({
          run: ({ addTasks }) => {
            calls++;
            addTasks([{ key: 'added', handler: anything(handler) }]);
          },
        }),
      });
      expect(batch.status).toBe('FAILED');
      expect(tasks.a).toMatchObject({ attempts: 1, error: { code: 'TASKS_INVALID' } });
      expect(calls).toBe(1);
    });

    it('an added task with null for its payload gets that of the batch, as one without', async () => {
      const dag = home().dag({
        a: task({
          run: ({ addTasks, batch: { dag: of } }) =>
            addTasks([
              { key: 'without', handler: `${of}.b` },
              { key: 'null', handler: `${of}.b`, payload: null },
              { key: 'false', handler: `${of}.b`, payload: false },
            ]),
        }),
        b: task({ after: ['a'], run: ({ payload }) => ({ payload }) }),
      });
      await using outbox = await home().outbox([dag]);
      const { id } = await outbox.pusher.start(dag.name, 'k', 'of the batch');
      await home().ended(outbox, id);
      const tasks = await home().tasks(outbox, id);
      expect(tasks.without?.result).toEqual({ payload: 'of the batch' });
      expect(tasks.null?.result).toEqual({ payload: 'of the batch' });
      expect(tasks.false?.result).toEqual({ payload: false });
    });
  });

  it('outbox OB-6: listeners of events that throw change nothing', async () => {
    const dag = home().dag({
      a: task({ mode: 'external', run: () => {} }),
      b: task({ after: ['a'], run: () => {} }),
    });
    const { log, lines } = recordingLogger();
    await using outbox = await home().outbox([dag], { logger: log });
    const ends: string[] = [];
    for (const name of ['started', 'task', 'batch'] as const)
      outbox.events.on(name, () => {
        throw new Error(`of ${name}`);
      });
    outbox.events.on('task', ({ taskKey, result }) => void ends.push(`${taskKey} ${result}`));
    const { id } = await outbox.pusher.start(dag.name, 'k');
    expect(await home().ended(outbox, id)).toMatchObject({ status: 'DONE' });
    const failed = () => lines.filter(({ message }) => message === 'A listener of an event failed');
    await until(() => failed().length >= 4, { what: 'all to be told', deadlineMs: DEADLINE_MS });
    expect(ends).toEqual(['a done', 'b done']);
    expect(failed().map(({ fields }) => fields.event)).toEqual(['started', 'task', 'task', 'batch']);
    expect(outbox.poller.busy).toBe(0);
  });
};
