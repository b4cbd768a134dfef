/*
 * One of several processes that hand in the same work at the same moment. Each message of its parent is a key: it makes
 * so many calls under it at once, each of which registers the same bulk action and asks for the same effect, and says
 * `done` when all have been answered. The ledger is told when each call began and ended, and of the effect itself.
 */

import { wait } from '@millrace/async-utils';
import { toWorkError } from '@millrace/foundation';
import { openLedger } from '@millrace/testkit/ledger';
import { openEngine } from '../bulk/open-engine.js';
import { type CallerBrief, PROCESSOR_TYPE } from '../bulk/settings.js';

const BUSY_AGAIN_MS = 20;

const {
  redis,
  ledger: path,
  config,
  calls,
  script,
  jobs,
} = JSON.parse(process.argv[2] ?? '{}') as CallerBrief;
const ledger = openLedger(path);
const opened = openEngine({ redis, config: { ...config, workerPool: { enabled: false } } });
const { service, idempotency } = opened.engine;

/** Jobs without ids: they are made from the key. */
const inputs = Array.from({ length: jobs }, () => ({ processorType: PROCESSOR_TYPE, payload: script }));

async function submit(key: string): Promise<void> {
  ledger.append({ kind: 'calling', key });
  const { groupId, added } = await service.submitBulk({ id: `group-${key}` }, inputs, { requestId: key });
  const result = await effectOnce(key);
  ledger.append({ kind: 'called', key, groupId, added, result });
}

/** Whoever comes while another runs it is told to come again, and gets the result of the first then. */
async function effectOnce(key: string): Promise<unknown> {
  for (;;) {
    try {
      return await idempotency.runOnce(key, async () => {
        ledger.append({ kind: 'effect', key });
        await wait(BUSY_AGAIN_MS);
        return process.pid;
      });
    } catch (error) {
      if (toWorkError(error).code !== 'IDEMPOTENCY_BUSY') throw error;
      ledger.append({ kind: 'busy', key });
      await wait(BUSY_AGAIN_MS);
    }
  }
}

process.on('message', async (key: string) => {
  const ends = await Promise.allSettled(Array.from({ length: calls }, () => submit(key)));
  for (const end of ends) {
    if (end.status === 'rejected') ledger.append({ kind: 'refused', key, ...toWorkError(end.reason) });
  }
  process.send?.('done');
});
process.once('disconnect', async () => {
  await opened.close();
  ledger.close();
});
await opened.engine.start();
process.send?.('up');
