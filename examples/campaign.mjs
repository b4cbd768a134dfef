// Two customers mail through one service that takes 200 messages a second and refuses the rest. The large campaign came
// first; the small one does not wait for it, and nobody told the engine how much the service takes.
import { createServer } from 'node:http';
import { BulkActionEngine, defineAggregator, defineProcessor } from '@millrace/bulk-action';
import { RateLimitedError } from '@millrace/foundation';
import { progressBar } from './progress-bar.mjs';

const PER_SECOND = 200;
const [LARGE, SMALL] = [400, 20];

// The service: a bucket of 20 messages that fills at 200 a second; every tenth address does not exist.
let [tokens, filledAt, refused] = [20, performance.now(), 0];
const service = createServer((request, response) => {
  const now = performance.now();
  tokens = Math.min(20, tokens + ((now - filledAt) * PER_SECOND) / 1000);
  filledAt = now;
  if (tokens < 1) {
    refused++;
    return response.writeHead(429).end();
  }
  tokens--;
  setTimeout(() => response.writeHead(request.url.endsWith('7') ? 404 : 200).end(), 20);
});
await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve));
const { port } = service.address();

const engine = new BulkActionEngine({
  config: { workerPool: { workerCount: 20 }, congestion: { baseBackoffMs: 200 } },
  processors: [
    defineProcessor({
      type: 'SEND_MESSAGE',
      async process({ payload }, { signal, idempotencyKey }) {
        const response = await fetch(`http://127.0.0.1:${port}/${payload.to}`, {
          method: 'POST',
          headers: { 'idempotency-key': idempotencyKey },
          signal,
        });
        // Not a failure: the job comes back later, no retry is spent, and everybody who calls the service slows down.
        if (response.status === 429) throw new RateLimitedError();
        if (!response.ok)
          return { success: false, error: { message: 'No such address', code: 'BOUNCED', retryable: false } };
        return { to: payload.to };
      },
    }),
  ],
  aggregators: [
    defineAggregator({
      type: 'SEND_MESSAGE',
      map: ({ data }) => data.to,
      // Called once when all is done, with the results in pages: memory stays small however many there are.
      async reduce(addresses) {
        let longest = '';
        for await (const to of addresses) if (to.length > longest.length) longest = to;
        return { longest };
      },
    }),
  ],
});
await engine.start();

/** Submits, and shows how far it is until it has ended. */
async function campaign(tenantId, size) {
  const began = performance.now();
  const id = `${tenantId}-spring`;
  const jobs = Array.from({ length: size }, (_, n) => ({
    processorType: 'SEND_MESSAGE',
    payload: { to: `${tenantId}-${n}` },
  }));
  const ended = new Promise((resolve) => {
    engine.service.subscribe(
      ({ type, groupId }) => groupId === id && type === 'group.completed' && resolve(),
    );
  });
  await engine.service.submitBulk({ id, tenantId }, jobs);
  const bar = tenantId === 'acme' ? progressBar(tenantId, size) : undefined;
  let shown = 0;
  const look = setInterval(async () => {
    const { done } = await engine.service.getProgress(id);
    for (; bar && shown < done; shown++) bar.advance();
  }, 100);
  await ended;
  clearInterval(look);
  for (; bar && shown < size; shown++) bar.advance();
  bar?.stop();
  return { ...(await engine.service.getResult(id)), seconds: (performance.now() - began) / 1000 };
}

const large = campaign('acme', LARGE);
await new Promise((resolve) => setTimeout(resolve, 500));
const results = await Promise.all([large, campaign('corner-shop', SMALL)]);

for (const { groupId, total, success, failedByCode, seconds, data } of results)
  console.log(
    `${groupId.padEnd(20)} ${success} of ${total} sent, ${failedByCode.BOUNCED ?? 0} bounced, in ${seconds.toFixed(1)} s; longest: ${data.longest}`,
  );
console.log(
  `the service refused ${refused} of ${refused + LARGE + SMALL} calls and took ${PER_SECOND} a second at most`,
);
await engine.stop();
service.close();
