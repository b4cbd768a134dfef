import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { taskManagerConfigFromEnvironment } from '../../src/lanes/environment.js';
import { cpuCount, resolveTaskManagerConfig, TASK_MANAGER_DEFAULTS } from '../../src/lanes/options.js';

/** The table of the specification: variable, default, floor, option, milliseconds per unit. */
const TABLE = [
  ['CHAT_TASK_MAX_WORKERS', 32, 1, 'maxWorkers', 1],
  ['CHAT_TASK_QUEUE_MAX_SIZE', 1000, 0, 'queueMaxSize', 1],
  ['CHAT_TASK_STREAM_MAX_CHUNKS', 4096, 0, 'streamMaxChunks', 1],
  ['CHAT_TASK_RESULT_TTL_SECONDS', 1800, 60, 'resultTtlMs', 1000],
  ['CHAT_TASK_MAX_STORED', 10_000, 100, 'maxStored', 1],
  ['CHAT_TASK_CLEANUP_INTERVAL_SECONDS', 30, 5, 'cleanupIntervalMs', 1000],
] as const;

describe('runtime RT-9: environment', () => {
  it.each(TABLE)(
    'runtime RT-9: %s has the default %i and the floor %i',
    (variable, value, floor, option, unit) => {
      const read = (given?: string) => taskManagerConfigFromEnvironment({ [variable]: given }, 8)[option];
      expect(read()).toBe(value * unit);
      expect(read(`${floor}`)).toBe(floor * unit);
      expect(read(` ${floor + 7} `)).toBe((floor + 7) * unit);
      for (const bad of [
        `${floor - 1}`,
        '',
        ' ',
        'ten',
        '1.5',
        '1e3',
        '0x10',
        'NaN',
        'Infinity',
        '9'.repeat(20),
        '8 8',
      ]) {
        const refused = () => read(bad);
        expect(refused).toThrow(
          expect.objectContaining({
            code: 'ENVIRONMENT_INVALID',
            message: `${variable} must be an integer ≥ ${floor}, got '${bad}'`,
          }),
        );
      }
    },
  );

  it('runtime RT-9: workers are four for each processor, and at least four', () => {
    const workers = (cpus: number) => taskManagerConfigFromEnvironment({}, cpus).maxWorkers;
    expect([1, 2, 16].map(workers)).toEqual([4, 8, 64]);
    expect(taskManagerConfigFromEnvironment({}).maxWorkers).toBe(Math.max(4, cpuCount() * 4));
    expect(TASK_MANAGER_DEFAULTS.maxWorkers).toBe(Math.max(4, cpuCount() * 4));
  });

  it('runtime RT-9: the defaults of the environment are those of the code, but its floors do not hold for the code', () => {
    const { maxWorkers: _, ...fromEnvironment } = taskManagerConfigFromEnvironment({});
    expect(TASK_MANAGER_DEFAULTS).toMatchObject(fromEnvironment);
    expect(resolveTaskManagerConfig({ maxStored: 0, resultTtlMs: 1, cleanupIntervalMs: 1 })).toMatchObject({
      maxStored: 0,
      resultTtlMs: 1,
    });
  });

  it('runtime RT-9: whatever the values, it answers with usable settings or names a variable', () => {
    const value = fc.oneof(fc.string(), fc.integer().map(String), fc.constant(undefined));
    const env = fc.record(Object.fromEntries(TABLE.map(([variable]) => [variable, value])));
    fc.assert(
      fc.property(env, (given) => {
        try {
          resolveTaskManagerConfig(taskManagerConfigFromEnvironment(given, 2));
        } catch (error) {
          expect(error).toMatchObject({ code: 'ENVIRONMENT_INVALID' });
          expect((error as Error).message).toMatch(/^CHAT_TASK_[A-Z_]+ must be an integer ≥ \d+, got '/);
        }
      }),
      { seed: 9, numRuns: 500 },
    );
  });
});
