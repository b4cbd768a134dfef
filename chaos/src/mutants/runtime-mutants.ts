import type { Mutant } from './mutate.js';

/** Of what everything else is made of: async-utils, and the queue in Redis. */
export const RUNTIME_MUTANTS: readonly Mutant[] = [
  {
    name: 'retry-limit',
    protection: 'retry ends after its retries',
    scenario: 'abort-storm',
    seed: 7,
    full: true,
    file: 'packages/async-utils/src/retry.ts',
    takenOut: 'if (attempt > retries)',
    instead: 'if (false)',
    breaks: ['I3 executions ≤ 1 + retries'],
  },
  {
    name: 'abort-listener',
    protection: 'whoever no longer waits for a signal takes its listener away',
    scenario: 'abort-storm',
    seed: 7,
    file: 'packages/async-utils/src/abort.ts',
    takenOut: "signal.removeEventListener('abort', hub.fire);",
    instead: '',
    breaks: ['I9 nothing left behind'],
  },
  {
    name: 'queue-bound',
    protection: 'put takes no more than there is room for',
    scenario: 'redis-queue-bound',
    seed: 7,
    file: 'packages/runtime/lua/put.lua',
    takenOut: 'if maxSize > 0 then wanted = math.min(wanted, maxSize - size) end',
    instead: '',
    breaks: ['I5 bound kept'],
  },
  {
    name: 'queue-put-once',
    protection: 'a put that is sent again after a lost reply inserts nothing',
    scenario: 'redis-queue-lost-replies',
    seed: 7,
    file: 'packages/runtime/lua/put.lua',
    takenOut:
      "if last and tonumber(last) == sequence then return {'put', tonumber(accepted), tonumber(putAt)} end",
    instead: '',
    breaks: ['I2 one delivery'],
  },
  {
    name: 'queue-confirm-once',
    protection: 'a confirmation that is sent again gets the first answer: the item is still delivered',
    scenario: 'redis-queue-lost-replies',
    seed: 7,
    file: 'packages/runtime/lua/confirm.lua',
    takenOut: 'if last and tonumber(last) == sequence then return settled end',
    instead: '',
    breaks: ['I1 no loss'],
  },
];
