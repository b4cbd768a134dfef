import { describe, expect, it } from 'vitest';
import { job, refusing } from './refusing.js';

describe('hostile definitions', () => {
  const refusedValues: readonly [string, readonly unknown[]][] = [
    ['weight', [0, -1, 0.0009, 1_000_001, Number.NaN, Number.POSITIVE_INFINITY, '1', null, {}]],
    ['priorityLevel', ['urgent', 'HIGH', 1, null, '__proto__']],
    ['rps', [0, -1, 1_000_001, Number.NaN, Number.POSITIVE_INFINITY, '5']],
    ['burst', [0, -1, 1.5, 1_000_001, Number.NaN, '5']],
    ['concurrency', [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5']],
    ['timeoutMs', [0, -1, Number.NaN, Number.POSITIVE_INFINITY, '5', null]],
    ['deadline', [new Date(Number.NaN), Number.NaN, -1, Number.POSITIVE_INFINITY, 8.7e15, '2030-01-01', {}]],
  ];

  it.each(refusedValues)(
    'bulk-action BA-1: %s is checked in createGroup, submitBulk and updateGroup',
    async (key, values) => {
      const { service, refuses, unchanged } = await refusing();
      for (const value of values) {
        for (const call of [
          () => service.createGroup({ id: 'new', [key]: value }),
          () => service.submitBulk({ id: 'new', [key]: value }, [job()]),
          () => service.updateGroup('there', { [key]: value }),
        ]) {
          const { message } = await refuses(call, 'OPTION_INVALID');
          expect(message).toMatch(
            new RegExp(`^(createGroup|submitBulk|updateGroup): ${key} must be .+, got `),
          );
        }
        if (['weight', 'rps', 'burst', 'concurrency'].includes(key))
          await refuses(() => service.updateTenant('shop', { [key]: value }), 'OPTION_INVALID');
      }
      await unchanged();
    },
  );

  it('bulk-action BA-1: null takes a limit away in a patch only', async () => {
    const { service, refuses, unchanged } = await refusing();
    for (const key of ['rps', 'burst', 'concurrency', 'deadline'])
      await refuses(() => service.createGroup({ id: 'new', [key]: null }), 'OPTION_INVALID');
    await unchanged();
  });

  it.each([
    ['createGroup', { id: 'new', wieght: 2 }, "there is no option 'wieght'; did you mean 'weight'?"],
    ['createGroup', { id: 'new', priority: 'high' }, "did you mean 'priorityLevel'?"],
    ['createGroup', JSON.parse('{"id": "new", "__proto__": {}}'), "there is no option '__proto__'"],
  ])('%s(%j) is refused with a hint', async (_, input, message) => {
    const { service, refuses, unchanged } = await refusing();
    expect((await refuses(() => service.createGroup(input), 'OPTION_UNKNOWN')).message).toContain(message);
    await unchanged();
  });

  it('unknown keys of patches, jobs and calls are refused with a hint', async () => {
    const { service, refuses, unchanged } = await refusing();
    const hints: readonly [() => Promise<unknown>, string][] = [
      [() => service.updateGroup('there', { concurency: 1 } as never), "did you mean 'concurrency'?"],
      [() => service.updateGroup('there', { tenantId: 'x' } as never), "there is no option 'tenantId'"],
      [
        () => service.updateTenant('shop', { priorityLevel: 'low' } as never),
        "there is no option 'priorityLevel'",
      ],
      [
        () => service.addJobs('new', [job(), job({ procesorType: 'x' })]),
        "did you mean 'jobs[1].processorType'?",
      ],
      [() => service.addJobs('new', [job({ banana: 1 })]), 'known: id, processorType, payload'],
      [() => service.addJobs('new', [job()], { requestID: 'r' } as never), "did you mean 'requestId'?"],
    ];
    for (const [call, hint] of hints) expect((await refuses(call, 'OPTION_UNKNOWN')).message).toContain(hint);
    await unchanged();
  });

  it.each([
    ['cost', [0, -1, 1.5, 1001, Number.NaN, '1', null]],
    ['notBefore', [new Date(Number.NaN), Number.NaN, -1, 'soon', null]],
    ['deadline', [new Date(Number.NaN), Number.POSITIVE_INFINITY, -1, 'soon', null]],
    ['traceparent', [5, null, 'x'.repeat(101), 'a\nb', 'é']],
  ])('bulk-action BA-2: %s of a job is checked, and said with its position', async (key, values) => {
    const { service, refuses, unchanged } = await refusing();
    for (const value of values) {
      const list = [job({ id: 'a' }), job({ id: 'b' }), job({ [key]: value })];
      const { message } = await refuses(() => service.addJobs('new', list), 'OPTION_INVALID');
      expect(message).toContain(`addJobs: jobs[2].${key} must be `);
    }
    await unchanged();
  });

  it('what is no list of jobs, no job, no definition, no position', async () => {
    const { service, refuses, unchanged } = await refusing();
    for (const list of [undefined, null, 5, 'jobs', {}, () => []])
      await refuses(() => service.addJobs('new', list as never), 'OPTION_INVALID');
    for (const one of [undefined, null, 5, 'job', [], () => 1]) {
      await refuses(() => service.addJobs('new', [one as never]), 'OPTION_INVALID');
      await refuses(() => service.submitJob('new', one as never), 'OPTION_INVALID');
    }
    for (const group of [5, 'g', [], () => 1])
      await refuses(() => service.createGroup(group as never), 'OPTION_INVALID');
    for (const group of [undefined, null, {}])
      await refuses(() => service.createGroup(group as never), 'ID_INVALID');
    for (const firstPosition of [-1, 1.5, '0', Number.NaN])
      await refuses(
        () => service.addJobs('new', [job()], { firstPosition: firstPosition as number }),
        'OPTION_INVALID',
      );
    for (const traceparent of [5, 'x'.repeat(101), 'a\u0000'])
      await refuses(
        () => service.createGroup({ id: 'new', traceparent: traceparent as string }),
        'OPTION_INVALID',
      );
    await unchanged();
  });
});
