import { expect, it } from 'vitest';
import {
  countsOf,
  deadly,
  fill,
  group,
  Instance,
  job,
  jobOf,
  jobs,
  listed,
  type OpenStore,
  retry,
  settle,
  succeed,
  viewOf,
} from './tools.js';

/** Ids that the character set allows and careless code trips over. */
const HOSTILE = [
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'toString',
  'valueOf',
  'length',
  '0',
  '-1',
  '00',
  '1e3',
  'NaN',
  'null',
  'undefined',
  ':',
  '::',
  '.',
  '..',
  'a:b',
  '-',
  'x'.repeat(128),
];

/** Two tenants that use the same ids. */
export function separating(open: OpenStore): void {
  it('equal group and job ids of two tenants never meet', async () => {
    const harness = await open();
    const { groups, views, leases, deadLetters } = harness.store;
    const instance = new Instance(harness);
    for (const key of ['a/g', 'b/g', '/g']) {
      const payload = JSON.stringify(key);
      await fill(harness, group(key), [job('j', { payload })]);
    }
    expect((await views.groups({}, 10)).items.map(({ id }) => id).toSorted()).toEqual(['a/g', 'b/g', 'g']);
    const taken = await instance.exactly(3);
    for (const lease of taken) expect(JSON.parse(lease.payload)).toBe(lease.key);
    const at = (key: string) => taken.filter((lease) => lease.key === key);
    for (const lease of [...at('a/g'), ...at('b/g'), ...at('/g')]) {
      // The token of one is worth nothing for the others.
      for (const key of ['a/g', 'b/g', '/g'].filter((other) => other !== lease.key))
        expect(await leases.renew([{ ...lease, key }])).toEqual(['lost']);
    }
    await settle(harness, deadly(at('a/g')[0] ?? taken[0]));
    await succeed(harness, at('b/g'));
    await groups.cancel('/g');
    expect((await jobOf(harness, 'a/g', 'j')).status).toBe('FAILED');
    expect((await jobOf(harness, 'b/g', 'j')).status).toBe('COMPLETED');
    expect((await jobOf(harness, '/g', 'j')).status).toBe('CANCELLED');
    expect((await deadLetters.list({ key: 'b/g' }, 10)).items).toEqual([]);
    expect((await deadLetters.list({ tenant: 'a' }, 10)).items).toHaveLength(1);
    expect(await deadLetters.redrive({ tenant: 'b' }, 10)).toMatchObject({ moved: 0 });
  });

  it('a pause, a cap and a rate of one do not touch the other', async () => {
    const harness = await open();
    const { groups } = harness.store;
    for (const key of ['a/g', 'b/g']) await fill(harness, group(key), 3);
    await groups.updateTenant('a', { concurrency: 1, rps: 0.01 });
    await groups.pause('a/g');
    expect((await new Instance(harness).take()).map(({ key }) => key)).toEqual(['b/g', 'b/g', 'b/g']);
    expect((await viewOf(harness, 'b/g')).paused).toBe(false);
  });

  it('groups of several namespaces may be one fairness unit', async () => {
    const harness = await open();
    await harness.store.groups.updateTenant('shared', { concurrency: 2 });
    for (const key of ['a/g', 'b/g', '/g']) await fill(harness, group(key, { tenantId: 'shared' }), 3);
    const leases = await new Instance(harness).take();
    expect(leases).toHaveLength(2);
    expect(leases.every(({ tenantId }) => tenantId === 'shared')).toBe(true);
    expect(await harness.store.views.tenant('shared')).toMatchObject({ groups: 3, pending: 7, inFlight: 2 });
    expect(await harness.store.views.tenant('a')).toBeUndefined();
  });
}

/** Hostile names. */
export function naming(open: OpenStore): void {
  it('are job ids like any other', async () => {
    const harness = await open();
    const { views, groups } = harness.store;
    const instance = new Instance(harness);
    expect(await views.job('/g', '__proto__')).toBeUndefined();
    await groups.create(group('/g'));
    for (const id of HOSTILE) expect(await views.job('/g', id)).toBeUndefined();
    expect(
      await harness.store.leases.settle([{ ...deadly({ key: '/g', jobId: 'constructor', token: 1 }) }]),
    ).toEqual([{ status: 'gone' }]);
    await fill(
      harness,
      group('/g'),
      HOSTILE.map((id) => job(id)),
    );
    await groups.seal('/g', HOSTILE.length);
    const leases = await instance.take();
    expect(leases.map(({ jobId }) => jobId)).toEqual(HOSTILE);
    for (const id of HOSTILE) expect(await jobOf(harness, '/g', id)).toMatchObject({ id, payload: { id } });
    for (const lease of leases) await settle(harness, retry(lease, { delayMs: 1000 }));
    await harness.advance(1001);
    await instance.beat();
    await harness.store.gate.dispatch(100);
    for (const lease of await instance.take()) await settle(harness, deadly(lease));
    const letters = await listed((cursor) => harness.store.deadLetters.list({}, 5, cursor));
    expect(letters.map((letter) => letter.job.id).toSorted()).toEqual(HOSTILE.toSorted());
    expect(await harness.store.deadLetters.redrive({ key: '/g', jobId: '__proto__' }, 5)).toMatchObject({
      moved: 1,
    });
    expect(await countsOf(harness, '/g')).toMatchObject({ pending: 1, failed: HOSTILE.length - 1 });
  });
}

/** Hostile names everywhere else. */
export function namingEverything(open: OpenStore): void {
  it('are groups, tenants, processor types and instances like any other', async () => {
    const harness = await open();
    const { views, groups, instances, leases } = harness.store;
    for (const name of HOSTILE) {
      expect(await views.group(`/${name}`)).toBeUndefined();
      expect(await views.tenant(name)).toBeUndefined();
      await fill(harness, group(`${name}/${name}`), [job(name, { processorType: name })]);
      await groups.updateTenant(name, { weight: 2 });
      await instances.heartbeat({ id: name, startedAt: 1, slots: 9, waiting: 9, processorTypes: [name] });
    }
    for (const name of HOSTILE) {
      const key = `${name}/${name}`;
      expect(await viewOf(harness, key)).toMatchObject({ id: key, tenant: name, tenantId: name });
      expect(await views.tenant(name)).toMatchObject({ id: name, weight: 2, groups: 1, pending: 1 });
      expect(await views.explain(key, name)).toMatchObject({ processorKnown: true, job: { id: name } });
      expect((await views.groups({ tenant: name }, 5)).items.map(({ id }) => id)).toEqual([key]);
    }
    expect(await views.explain('__proto__/__proto__', 'none')).toBeUndefined();
    expect((await instances.list()).map(({ id }) => id).toSorted()).toEqual(HOSTILE.toSorted());
    await harness.store.gate.fetch(100);
    for (const instanceId of HOSTILE) {
      const { jobs: taken } = await leases.reserve({ instanceId, seq: 1, max: 1 });
      expect(taken).toHaveLength(1);
      expect((await leases.reserve({ instanceId, seq: 1, max: 1 })).jobs).toHaveLength(1);
      expect(await leases.giveBackAll(instanceId, 5)).toMatchObject({ returned: 1 });
    }
    await instances.leave('__proto__');
    expect(await instances.list()).toHaveLength(HOSTILE.length - 1);
    expect(await new Instance(harness).finish()).toHaveLength(HOSTILE.length);
  });

  it('are error codes, signatures and keys like any other', async () => {
    const harness = await open();
    const { once, groups, deadLetters, views } = harness.store;
    await fill(harness, group('/g'), jobs(HOSTILE.length));
    await groups.seal('/g');
    const leases = await new Instance(harness).take();
    for (const [n, lease] of leases.entries()) {
      const name = HOSTILE[n] ?? '';
      const letter = deadly(lease, name);
      const error = { code: name, message: name };
      await settle(harness, { ...letter, outcome: { ...letter.outcome, error } as typeof letter.outcome });
    }
    const failedByCode = (await views.result('/g'))?.failedByCode ?? {};
    expect(Object.entries(failedByCode).toSorted()).toEqual(HOSTILE.map((name) => [name, 1]).toSorted());
    const signatures = await deadLetters.signatures({}, 100);
    expect(signatures.map(({ signature }) => signature).toSorted()).toEqual(HOSTILE.toSorted());
    expect(await deadLetters.purge({ signature: 'constructor' }, 5)).toMatchObject({ moved: 1 });
    for (const name of HOSTILE) {
      expect(await once.begin(name, name, 1000)).toEqual({ kind: 'run' });
      expect(await once.finish(name, name, JSON.stringify(name), 60_000)).toBe(true);
      expect(await once.begin(name, 'x', 1000)).toEqual({ kind: 'done', result: JSON.stringify(name) });
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
}
