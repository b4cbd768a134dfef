import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TaskDefinition } from '../../src/define-dag.js';
import { resolvedSettings, TASK_DEFAULTS, taskSettings } from '../../src/rules/task-settings.js';

const run = () => {};

const outcome = (settle: () => unknown): unknown => {
  try {
    return settle();
  } catch (error) {
    return (error as Error).message;
  }
};

describe('outbox: settings of a task', () => {
  it('are the defaults where nothing is given', () => {
    expect(taskSettings('task', { run, timeoutMs: undefined } as TaskDefinition)).toEqual({
      after: [],
      join: 'all',
      mode: 'transactional',
      onFailure: 'fail',
      run,
      timeoutMs: 30_000,
      retry: { retries: 4, backoff: 'exponential', jitter: 0.2 },
      backoffMs: 1_000,
    });
    expect(taskSettings('task', { retry: { retries: 1 } }).retry).toEqual({
      ...TASK_DEFAULTS.retry,
      retries: 1,
    });
  });

  it('come out the same by the quick way and by the thorough one, mistakes included', () => {
    const value = fc.constantFrom<unknown>(
      undefined,
      null,
      0,
      1,
      0.5,
      1e9,
      '',
      'any',
      'external',
      run,
      [],
      ['a'],
      [1],
      {
        atLeast: 1,
      },
    );
    const key = fc.constantFrom(
      ...['after', 'join', 'mode', 'onFailure', 'when', 'run', 'timeoutMs', 'retry', 'backoffMs'],
      ...['constructor', '__proto__', 'timeout'],
    );
    const definition = fc.oneof(
      fc.constantFrom([], [1]),
      fc.dictionary(key, value, { maxKeys: 4 }),
      fc.record({ retry: fc.dictionary(fc.constantFrom('retries', 'backoff', 'jitter', 'delay'), value) }),
    );
    fc.assert(
      fc.property(definition, (given) => {
        const task = given as TaskDefinition;
        expect(outcome(() => taskSettings('task', task))).toEqual(
          outcome(() => resolvedSettings('task', task)),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
