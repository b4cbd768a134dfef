import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Instance, ServerFacts } from '../../src/cli/doctor/facts.js';
import { judgeDeadLetters } from '../../src/cli/doctor/rules/dead-letters.js';
import { judgeGrowingMemory } from '../../src/cli/doctor/rules/growing-memory.js';
import { judgeSlowShutdown } from '../../src/cli/doctor/rules/slow-shutdown.js';
import { judgeStoppedFetcher } from '../../src/cli/doctor/rules/stopped-fetcher.js';
import { judgeBusyWorkers, judgeIdleWorkers, neededWorkers } from '../../src/cli/doctor/rules/workers.js';
import { shellWord } from '../../src/cli/show/text.js';
import { ago, facts, heldBy, instance, NOW, point, still } from './doctor-facts.js';

describe('case 1, workers idle though jobs wait', () => {
  it.each([
    ['nothing waits', still({}), undefined],
    ['somebody works', still({ lane: 9, inFlight: 1 }), undefined],
    ['they came just now', facts({}, { lane: 9 }), undefined],
    ['nobody to work', still({ lane: 9, liveSlots: 0, waitingSlots: 0 }), 'failure'],
    ['paused', still({ lane: 9 }, { held: heldBy('PAUSED') }), 'note'],
    ['a back-off', still({ nonReady: 9 }, { held: heldBy('BACK_OFF') }), 'note'],
    [
      'a back-off without a processor',
      still({ nonReady: 9 }, { held: heldBy('BACK_OFF', 'NO_PROCESSOR') }),
      'failure',
    ],
    ['a limit', still({ lane: 9 }, { held: heldBy('GROUP_RATE') }), 'warning'],
    [
      'one is paused, one is not',
      still({ lane: 9 }, { held: [...heldBy('PAUSED'), ...heldBy('TURN')] }),
      'warning',
    ],
    ['nobody knows why', still({ lane: 9 }), 'warning'],
  ])('%s', (_, given, level) => expect(judgeIdleWorkers(given)?.level).toBe(level));

  it('says what helps, in a form that a shell cannot misread', () => {
    const [held] = heldBy('PAUSED');
    const judged = judgeIdleWorkers(
      still({ lane: 1 }, { held: [{ ...held, groupId: 'x; rm -rf /' } as never] }),
    );
    expect(judged?.action).toContain("millrace groups resume 'x; rm -rf /'");
    const texts = ['plain-1', "it's", '$(id) `id`', 'a\nb', '*', '"', '\\'];
    const script = `printf '%s\\0' ${texts.map(shellWord).join(' ')}`;
    expect(execFileSync('sh', ['-c', script]).toString()).toBe(`${texts.join('\0')}\0`);
  });
});

describe('case 2, all busy and more comes', () => {
  const busy = { waitingSlots: 0, inFlight: 4, startsPerSecond: 8 };
  it.each([
    ['it grows', facts({ ...busy, lane: 10 }, { ...busy, lane: 30 }), 'warning'],
    ['it shrinks', facts({ ...busy, lane: 30 }, { ...busy, lane: 10 }), undefined],
    ['one is free', facts({ ...busy, lane: 10 }, { ...busy, lane: 30, waitingSlots: 1 }), undefined],
    [
      'no workers',
      facts({ ...busy, lane: 10, liveSlots: 0 }, { ...busy, lane: 30, liveSlots: 0 }),
      undefined,
    ],
    [
      'more waited minutes ago',
      facts({ ...busy, lane: 10 }, { ...busy, lane: 30 }, { points: [point(0, 0, 500)] }),
      undefined,
    ],
    [
      'fewer waited minutes ago',
      facts({ ...busy, lane: 10 }, { ...busy, lane: 30 }, { points: [point(0, 0, 5)] }),
      'warning',
    ],
  ])('%s', (_, given, level) => expect(judgeBusyWorkers(given)?.level).toBe(level));

  it('recommends rate × seconds per job, divided among the instances that run jobs', () => {
    // 8 start a second and 20 more wait after one: 28 a second, half a second each.
    const instances = [
      instance(),
      instance({ instanceId: 'b' }),
      instance({ role: 'api', workerCount: null, pool: null }),
    ];
    const judged = judgeBusyWorkers(facts({ ...busy, lane: 10 }, { ...busy, lane: 30 }, { instances }));
    expect(judged?.action).toContain('Have 14 workers');
    expect(judged?.action).toContain(
      `curl -X PATCH http://server/api/bulk/pool -H "authorization: Bearer $MILLRACE_API_KEY" -H 'content-type: application/json' -d '{"workerCount":7}'`,
    );
  });

  it('says that jobs hang, by name, where none starts', () => {
    const running = [{ groupId: 'g', jobId: 'j', processorType: 'mail', runsForMs: 90_000 }];
    const hung = { ...busy, startsPerSecond: 0 };
    const judged = judgeBusyWorkers(facts({ ...hung, lane: 1 }, { ...hung, lane: 2 }, { running }));
    expect(judged?.action).toMatch(/mail g\/j runs for 1 min 30 s.*jobTimeoutMs/);
    expect(judged?.action).not.toContain('workerCount');
  });

  it('never recommends fewer workers than the work needs', () => {
    const number = fc.double({ min: 0.001, max: 10_000, noNaN: true });
    fc.assert(
      fc.property(number, number, (arrivingPerSecond, meanSeconds) => {
        const needed = neededWorkers({ arrivingPerSecond, startedPerSecond: 1, meanSeconds }) as number;
        expect(needed / meanSeconds).toBeGreaterThanOrEqual(arrivingPerSecond * (1 - 1e-9));
        expect((needed - 1) / meanSeconds).toBeLessThanOrEqual(arrivingPerSecond * (1 + 1e-9));
      }),
    );
  });
});

describe('case 3, the Fetcher has stopped', () => {
  const stopped = { fetcherRunning: false, jobTimeoutMs: 1, fetchIntervalMs: 1, fetchBatchSize: 1 };
  const of = (more: Partial<Instance>) => still({}, { instances: [instance({ pool: stopped, ...more })] });
  it.each([
    ['of an instance', of({}), 'failure'],
    ['that has just started', of({ startedAt: ago(3_000) }), undefined],
    ['that is about to stop', of({ stopping: true }), undefined],
    ['that is gone', of({ alive: false }), undefined],
    ['that runs no jobs', of({ pool: null }), undefined],
    ['nothing holds a job, nobody takes it', still({ lane: 5 }, { held: heldBy() }), 'failure'],
    ['only those before it hold it', still({ lane: 5 }, { held: heldBy('TURN') }), 'failure'],
    [
      'they have something else to wait for',
      still({ lane: 5 }, { held: heldBy('GROUP_RATE', 'TURN') }),
      undefined,
    ],
    ['they get fewer', facts({ lane: 5 }, { lane: 4 }, { held: heldBy('TURN') }), undefined],
    ['some are ready', still({ lane: 5, ready: 1 }, { held: heldBy('TURN') }), undefined],
  ])('%s', (_, given, level) => expect(judgeStoppedFetcher(given)?.level).toBe(level));

  it('tells how the instances see Redis', () => {
    const redis = { name: 'redis', ok: false, message: 'No answer', since: null };
    const given = still({ lane: 5 }, { held: heldBy('TURN'), instances: [instance({ backends: [redis] })] });
    expect(judgeStoppedFetcher(given)?.seen).toContain('a: No answer');
  });
});

describe('case 4, dead letters', () => {
  const signatures = [
    {
      ...{ signature: "Error: it's over", count: 12, firstFailedAt: ago(9), lastFailedAt: ago(0) },
      ...{ processorType: 'Error:', code: "it's" },
      sample: { groupId: 'g', jobId: 'j', message: 'over' },
    },
  ];
  it.each([
    ['none', still({}), undefined],
    ['old ones', still({ deadLetters: 3 }), 'note'],
    [
      'between the looks, most of what ends',
      facts({ deadLetters: 0 }, { deadLetters: 20, startsPerSecond: 20 }),
      'failure',
    ],
    [
      'between the looks, a few of many',
      facts({ deadLetters: 0 }, { deadLetters: 20, startsPerSecond: 500 }),
      'warning',
    ],
    ['one', facts({ deadLetters: 2 }, { deadLetters: 3 }), 'warning'],
    [
      'lately, a few of many',
      still({ deadLetters: 40 }, { points: [point(20, 500), point(20, 500)] }),
      'warning',
    ],
    ['lately, most', still({ deadLetters: 40 }, { points: [point(20, 5), point(20, 5)] }), 'failure'],
  ])('%s', (_, given, level) => expect(judgeDeadLetters(given)?.level).toBe(level));

  it('counts what the demo lets fail as a note, and not among the others', () => {
    const letters = (isDemo: boolean, count: number, ms = 1_000) =>
      Array.from({ length: count }, () => ({ failedAt: NOW - ms, isDemo }));
    const judged = (...newestLetters: ServerFacts['newestLetters'][number][]) =>
      judgeDeadLetters(still({ deadLetters: 40 }, { points: [point(20, 5), point(20, 5)], newestLetters }));
    expect(judged(...letters(true, 38))).toMatchObject({
      level: 'note',
      title: expect.stringContaining('from the demo'),
    });
    // Old ones of others are no news either.
    expect(judged(...letters(true, 38), ...letters(false, 2, 3_600_000))?.level).toBe('note');
    expect(judged(...letters(true, 38), ...letters(false, 2))).toMatchObject({
      level: 'warning',
      seen: expect.stringMatching(/^2 jobs gave up/),
    });
    expect(judged(...letters(false, 40))?.level).toBe('failure');
  });

  it('names causes, processors and services that refuse', () => {
    const resource = { resource: 'cards', throttles: 9, frozenForMs: 0 } as ServerFacts['resources'][number];
    const judged = judgeDeadLetters(
      facts({}, { deadLetters: 12 }, { signatures, deadTypes: ['pay'], resources: [resource] }),
    );
    expect(judged?.seen).toMatch(/12 × Error: it's over.*processors pay.*cards \(9 times\)/);
    expect(judged?.action).toContain(`redrive --signature 'Error: it'\\''s over'`);
  });
});

describe('case 5, memory', () => {
  const MB = 1024 ** 2;
  const of = (used: number, grown: number, overMs: number, more: Partial<ServerFacts> = {}) => {
    const memory = {
      rssBytes: 2000 * MB,
      heapUsedBytes: used * MB,
      heapLimitBytes: 1000 * MB,
      grownBytes: grown * MB,
      overMs,
    };
    return still({ lane: 5 }, { instances: [instance({ memory })], ...more });
  };
  it.each([
    ['not known', still({}), undefined],
    ['steady', of(500, 0, 900_000), undefined],
    ['nearly full', of(900, 0, 0), 'warning'],
    ['it grows', of(500, 100, 900_000), 'warning'],
    ['it has just started', of(500, 100, 120_000), undefined],
    ['it grows so slowly that it takes days', of(100, 21, 86_400_000), undefined],
    ['it shrinks', of(500, -100, 900_000), undefined],
  ])('%s', (_, given, level) => expect(judgeGrowingMemory(given)?.level).toBe(level));

  it('tells the sizes of payloads, and how long it lasts', () => {
    const payloads = { looked: 10, meanBytes: 2048, maxBytes: 300_000 };
    const judged = judgeGrowingMemory(of(500, 100, 900_000, { payloads, isEmbedded: true }));
    expect(judged?.seen).toMatch(
      /100 MB within 15 min.*full in about 1 h 15 min.*2 KB on the average, 293 KB at most/,
    );
    expect(judged?.action).toMatch(/5 waiting jobs are in its memory.*payloadBytesMax.*workerCount is 4/);
  });
});

describe('case 6, a stop that takes too long', () => {
  const running = [{ groupId: 'g', jobId: 'j', processorType: 'mail', runsForMs: 45_000 }];
  const of = (more: Partial<Instance>, jobs: ServerFacts['running'] = []) =>
    still({}, { instances: [instance(more)], running: jobs });
  it.each([
    ['nobody stops', of({}), undefined],
    ['it has time left', of({ stopping: true, stoppingSince: ago(10_000) }), undefined],
    ['it is past its time', of({ stopping: true, stoppingSince: ago(31_000) }), 'failure'],
    ['it was killed', of({ alive: false, stopping: true, stoppingSince: ago(90_000) }), 'warning'],
    ['a job would outlive a stop', of({}, running), 'note'],
    ['a job would not', of({ gracePeriodMs: 60_000 }, running), undefined],
    ['nobody knows', of({ gracePeriodMs: null }, running), undefined],
  ])('%s', (_, given, level) => expect(judgeSlowShutdown(given)?.level).toBe(level));

  it('names the long jobs', () => {
    const judged = judgeSlowShutdown(of({ stopping: true, stoppingSince: ago(31_000) }, running));
    expect(judged?.seen).toMatch(
      /stopping for 31 s; gracePeriodMs is 30,000, jobTimeoutMs 30,000.*mail g\/j \(45 s\)/,
    );
  });
});
