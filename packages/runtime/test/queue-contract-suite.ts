import { afterAll, beforeAll, describe } from 'vitest';
import { cancelling, closing, iterating } from './queue-contract/ending.js';
import { carrying, refusing } from './queue-contract/payloads.js';
import { racing } from './queue-contract/races.js';
import type { Create } from './queue-contract/tools.js';
import { beingFull, puttingAndGetting, waitingForAnItem, waitingInTurn } from './queue-contract/waiting.js';

/** Where the suite gets its queues from. */
export interface QueueSandbox {
  /** Makes an empty queue that shares nothing with any other; refuses a bad configuration as the queue's class does. */
  create: Create;
  dispose(): Promise<void>;
}

/**
 * The one suite that every `Queue<T>` passes. Time is real, since a store's is; nothing sleeps: what must not happen
 * is given the time that another queue's `get` takes to run into its timeout.
 * @param name - the requirement id and the class: `'runtime RT-1: InMemoryQueue'`.
 * @param makeSandbox - called once before the tests; `dispose` once after them.
 */
export function queueContract(name: string, makeSandbox: () => Promise<QueueSandbox>): void {
  describe(name, () => {
    let sandbox: QueueSandbox | undefined;
    beforeAll(async () => {
      sandbox = await makeSandbox();
    });
    afterAll(() => sandbox?.dispose());
    const create: Create = async (config) => {
      if (!sandbox) throw new Error('expected a sandbox, makeSandbox gave none');
      return sandbox.create(config);
    };
    describe('put and get', () => puttingAndGetting(create));
    describe('an empty queue', () => waitingForAnItem(create));
    describe('a full queue', () => beingFull(create));
    describe('waiting in turn', () => waitingInTurn(create));
    describe('close', () => closing(create));
    describe('iteration', () => iterating(create));
    describe('cancellation', () => cancelling(create));
    describe('races', () => racing(create));
    describe('payloads', () => carrying(create));
    describe('options', () => refusing(create));
  });
}
