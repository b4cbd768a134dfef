/*
 * One process at a shared RedisQueue. As `producer` it has two that put their items one after the other and write into
 * the ledger whether each was acknowledged; as `consumer` it writes down what it gets, until the queue is closed and drained.
 */

import { RedisQueue } from '@millrace/runtime/redis';
import { openLedger } from '@millrace/testkit/ledger';

const [role, name, url = '', path = '', maxSize, count] = process.argv.slice(2);
const ledger = openLedger(path);
const queue = new RedisQueue<string>({ name: 'chaos', maxSize: Number(maxSize), redis: { url } });

async function produce(producer: string): Promise<void> {
  for (let index = 0; index < Number(count); index++) {
    const item = `${producer}-${index}`;
    try {
      await queue.put(item, { timeoutMs: 60_000 });
      ledger.append({ kind: 'acknowledged', item });
    } catch (error) {
      ledger.append({ kind: 'unknown', item, code: String((error as { code?: unknown }).code) });
    }
  }
}

async function consume(): Promise<void> {
  for (;;) {
    try {
      const item = await queue.get({ timeoutMs: 1_000 });
      if (item) ledger.append({ kind: 'got', item: item.payload });
      else if (queue.closed && (await queue.size()) === 0) return;
    } catch (error) {
      ledger.append({ kind: 'trouble', code: String((error as { code?: unknown }).code) });
    }
  }
}

await (role === 'producer' ? Promise.all([produce(`${name}a`), produce(`${name}b`)]) : consume());
ledger.append({ kind: 'ended', role });
await queue[Symbol.asyncDispose]();
