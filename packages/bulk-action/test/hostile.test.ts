import { describe, expect, it } from 'vitest';
import { onMemory } from './on-memory.js';
import { job, refusing } from './refusing.js';

const NOT_TEXT = [
  undefined,
  null,
  0,
  5,
  Number.NaN,
  true,
  7n,
  Symbol('x'),
  {},
  [],
  ['a'],
  () => 'a',
  new String('a'),
];
const BAD_TEXT = [
  '',
  ' ',
  'a b',
  'a\n',
  'a\u0000b',
  'naïve',
  '🙂',
  '\ud800',
  'a{b}',
  'a*',
  'a,b',
  "a'b",
  '../a/b',
  'a\\b',
  'a%2Fb',
  'a#b',
  'a@b',
  'a+b',
  'x'.repeat(129),
  'x'.repeat(1_000_000),
];
const BAD_IDS = [...NOT_TEXT, ...BAD_TEXT];

const circular: Record<string, unknown> = {};
circular.self = circular;
const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
const throwing = {
  toJSON() {
    throw new Error('no');
  },
};
const hostileProxy = new Proxy(
  {},
  {
    ownKeys() {
      throw new Error('no');
    },
  },
);
function nestedObjects(depth: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
}

const BAD_PAYLOADS: readonly [string, unknown][] = [
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['a BigInt', 1n],
  ['a BigInt inside', { a: [1n] }],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['a circle', circular],
  ['a toJSON that throws', throwing],
  ['a toJSON that throws inside', { a: throwing }],
  ['a toJSON that gives nothing', { toJSON: () => undefined }],
  ['a proxy that throws', hostileProxy],
  ['a getter that throws', Object.defineProperty({}, 'a', { enumerable: true, get: throwing.toJSON })],
  ['lists 10,000 deep', nested(10_000)],
  ['objects 10,000 deep', nestedObjects(10_000)],
  ['lists 1,001 deep', nested(1001)],
];

describe('hostile ids', () => {
  it('bulk-action BA-15: as a group: refused everywhere, nothing stored', async () => {
    const { service, backpressure, deadLetters, refuses, unchanged } = await refusing();
    for (const id of BAD_IDS) {
      const bad = id as string;
      for (const call of [
        () => service.createGroup({ id: bad }),
        () => service.addJobs(bad, [job()]),
        () => service.submitBulk({ id: bad }, [job()]),
        () => service.submitJob(bad, job()),
        () => service.seal(bad),
        () => service.getProgress(bad),
        () => service.getGroup(bad),
        () => service.getResult(bad),
        () => service.getJob(bad, 'j'),
        () => service.listJobs(bad),
        () => service.explain(bad, 'j'),
        () => service.cancelGroup(bad),
        () => service.pauseGroup(bad),
        () => service.resumeGroup(bad),
        () => service.updateGroup(bad, { weight: 2 }),
        () => backpressure.admit({ groupId: bad, jobId: 'j' }),
        () => backpressure.checkRate(bad),
      ])
        await refuses(call, 'ID_INVALID');
      if (id !== undefined) await refuses(() => deadLetters.redrive({ groupId: bad }), 'ID_INVALID');
    }
    await unchanged();
  });

  it.each([
    'a/b/c',
    '/',
    'a/',
    '//',
    '/a/b',
    'a b/c',
    'a/b c',
    `${'x'.repeat(129)}/a`,
    `a/${'x'.repeat(129)}`,
  ])('bulk-action BA-15: as a reference with a tenant: %s', async (ref) => {
    const { service, refuses, unchanged } = await refusing();
    await refuses(() => service.createGroup({ id: ref }), 'ID_INVALID');
    await refuses(() => service.addJobs(ref, [job()]), 'ID_INVALID');
    await unchanged();
  });

  it('bulk-action BA-15: as a job: refused everywhere, and the right jobs before it are not stored', async () => {
    const { service, backpressure, refuses, unchanged } = await refusing();
    for (const id of [...BAD_IDS, 'a/b']) {
      const bad = id as string;
      if (id !== undefined) {
        const list = [{ id: 'good', processorType: 'mail' }, job({ id: bad })];
        await refuses(() => service.addJobs('new', list), 'ID_INVALID');
        await refuses(() => service.submitBulk({ id: 'new' }, list), 'ID_INVALID');
        await refuses(() => service.submitJob('new', job({ id: bad })), 'ID_INVALID');
      }
      await refuses(() => service.getJob('there', bad), 'ID_INVALID');
      await refuses(() => service.explain('there', bad), 'ID_INVALID');
      await refuses(() => backpressure.admit({ groupId: 'there', jobId: bad }), 'ID_INVALID');
    }
    await unchanged();
  });

  it('bulk-action BA-15: as a tenant, a fairness unit or a request', async () => {
    const { service, refuses, unchanged } = await refusing();
    for (const id of [...BAD_IDS, 'a/b']) {
      const bad = id as string;
      await refuses(() => service.getTenant(bad), 'ID_INVALID');
      await refuses(() => service.updateTenant(bad, { weight: 2 }), 'ID_INVALID');
      if (id === undefined) continue;
      await refuses(() => service.createGroup({ id: 'new', tenantId: bad }), 'ID_INVALID');
      await refuses(() => service.addJobs('new', [job()], { requestId: bad }), 'ID_INVALID');
      await refuses(() => service.submitBulk({ id: 'new' }, [job()], { requestId: bad }), 'ID_INVALID');
      // '' is the namespace of nobody.
      if (id !== '') await refuses(() => service.createGroup({ id: 'new', tenant: bad }), 'ID_INVALID');
    }
    await refuses(() => service.addJobs('new', [job()], { requestId: 'r'.repeat(101) }), 'ID_INVALID');
    await unchanged();
  });

  it('bulk-action BA-15: as a processor type', async () => {
    const { service, refuses, unchanged } = await refusing();
    const types = [...NOT_TEXT, '', 'a\nb', '\u0000', '\ud800', 'x'.repeat(129)];
    for (const processorType of types)
      await refuses(() => service.addJobs('new', [job(), job({ processorType })]), 'ID_INVALID');
    await unchanged();
  });

  it('bulk-action BA-15: names that mean something elsewhere are plain ids here', async () => {
    const { service, work } = onMemory();
    const names = [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '-1',
      '0',
      '.',
      '..',
      ':',
      '-',
      'NaN',
    ];
    for (const id of names) {
      await service.submitBulk(
        { id, tenant: id },
        names.map((jobId) => ({ id: jobId, processorType: jobId })),
      );
      await service.submitBulk({ id }, [{ id, processorType: 'mail' }]);
    }
    await work();
    for (const id of names) {
      expect(await service.getProgress(`${id}/${id}`)).toMatchObject({
        success: names.length,
        status: 'COMPLETED',
      });
      expect(await service.getProgress(id)).toMatchObject({ success: 1, status: 'COMPLETED' });
      expect(await service.getTenant(id)).toMatchObject({ id });
    }
  });

  it('ids of 128 characters and requests of 100 are taken', async () => {
    const { service } = onMemory();
    const id = 'Az09._:-'.repeat(16);
    await service.addJobs(`${id}/${id}`, [job({ id })]);
    expect(await service.getJob(`${id}/${id}`, id)).toMatchObject({ id, groupId: `${id}/${id}` });
    const requestId = 'r'.repeat(100);
    await service.addJobs('g', [{ processorType: 'mail' }], { requestId, firstPosition: 10 ** 15 });
    expect(await service.getJob('g', `${requestId}:1000000000000000`)).toMatchObject({ status: 'PENDING' });
  });
});

describe('hostile payloads', () => {
  it.each(BAD_PAYLOADS)('bulk-action BA-15: %s is refused and nothing is stored', async (_, payload) => {
    const { service, refuses, unchanged } = await refusing();
    const list = [{ id: 'good', processorType: 'mail' }, job({ payload })];
    const failure = await refuses(() => service.addJobs('new', list), 'PAYLOAD_INVALID');
    expect(failure.message).toMatch(/^The payload of bad cannot be stored: ./);
    await refuses(() => service.submitBulk({ id: 'new' }, list), 'PAYLOAD_INVALID');
    await refuses(() => service.submitJob('new', job({ payload })), 'PAYLOAD_INVALID');
    await unchanged();
  });

  it.each([
    ['ASCII', (bytes: number) => 'x'.repeat(bytes - 2)],
    [
      'three bytes each',
      (bytes: number) => `${'x'.repeat((bytes - 2) % 3)}${'€'.repeat(Math.floor((bytes - 2) / 3))}`,
    ],
    [
      'four bytes each',
      (bytes: number) => `${'x'.repeat((bytes - 2) % 4)}${'🙂'.repeat(Math.floor((bytes - 2) / 4))}`,
    ],
    [
      'escaped',
      (bytes: number) => `${'x'.repeat((bytes - 2) % 6)}${'\ud800'.repeat(Math.floor((bytes - 2) / 6))}`,
    ],
  ])('bulk-action BA-15: exactly the limit passes, one byte more does not: %s', async (_, text) => {
    const { service, config, refuses, unchanged } = await refusing();
    const max = config.limits.payloadBytesMax;
    const failure = await refuses(
      () => service.addJobs('new', [job({ payload: text(max + 1) })]),
      'PAYLOAD_TOO_LARGE',
    );
    expect(failure).toMatchObject({ status: 413, details: { job: 'bad', bytes: max + 1, max } });
    await unchanged();
    await service.addJobs('new', [job({ payload: text(max) })]);
    expect((await service.getJob('new', 'bad')).payload).toBe(text(max));
  });

  it('bulk-action BA-15: what JSON can carry comes back as JSON gives it', async () => {
    const { service } = onMemory();
    const proto = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    );
    const payloads: readonly [unknown, unknown][] = [
      [undefined, null],
      [null, null],
      [0, 0],
      [false, false],
      ['', ''],
      [{ a: undefined, b: () => 1, c: Symbol('x'), d: Number.NaN }, { d: null }],
      [
        [undefined, () => 1],
        [null, null],
      ],
      [new Date(0), '1970-01-01T00:00:00.000Z'],
      ['\ud800 alone \udc00', '\ud800 alone \udc00'],
      ['\u2028 "quoted" \\ \u0000', '\u2028 "quoted" \\ \u0000'],
      [nested(1000), nested(1000)],
      ['['.repeat(5000), '['.repeat(5000)],
      ['\\"['.repeat(5000), '\\"['.repeat(5000)],
      [proto, proto],
    ];
    await service.addJobs(
      'g',
      payloads.map(([payload], index) => job({ id: `p${index}`, payload })),
    );
    for (const [index, [, expected]] of payloads.entries())
      expect((await service.getJob('g', `p${index}`)).payload).toEqual(expected);
    const stored = (await service.getJob('g', `p${payloads.length - 1}`)).payload as object;
    expect(Object.keys(stored)).toEqual(['__proto__', 'constructor']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('bulk-action BA-15: a payload changed after the call is stored as it was', async () => {
    const { service } = onMemory();
    const payload = { to: ['Ada'] };
    await service.addJobs('g', [job({ payload })]);
    payload.to.push('Eve');
    expect((await service.getJob('g', 'bad')).payload).toEqual({ to: ['Ada'] });
  });
});
