import { expect } from 'vitest';
import type { JobInput } from '../src/model.js';
import { code, onMemory } from './on-memory.js';

/** A job that is right but for what is added. */
export const job = (more: object = {}): JobInput => ({ id: 'bad', processorType: 'mail', ...more });

/** Hands everything in behind jobs that are right, and compares what is stored before and after. */
export async function refusing() {
  const all = onMemory();
  await all.service.submitBulk({ id: 'there' }, [{ id: 'ok', processorType: 'mail' }]);
  const look = async () => [
    await all.service.getQueues(),
    await all.service.listGroups(),
    await all.service.listJobs('there'),
    await all.service.getFairness(),
  ];
  const before = await look();
  return {
    ...all,
    async refuses(call: () => Promise<unknown>, expected: string): Promise<Error> {
      const failure = await call().then(
        (answer) => expect.fail(`expected ${expected}, got the answer ${JSON.stringify(answer)}`),
        (error: unknown) => error as Error,
      );
      expect(failure).toMatchObject(code(expected));
      // Whatever came, the error is short: it goes into logs and answers.
      expect(failure.message.length).toBeLessThan(600);
      expect(JSON.stringify((failure as Error & { details: object }).details).length).toBeLessThan(1000);
      return failure;
    },
    unchanged: async () => expect(await look()).toEqual(before),
  };
}
