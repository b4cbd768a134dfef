// Calls a service that fails, hangs and refuses too many callers, and gets every answer all the same.
import { createServer } from 'node:http';
import { isTimeoutError, pLimit, retry, timeout } from '@millrace/async-utils';
import { progressBar } from './progress-bar.mjs';

const REQUESTS = 400;
const SERVICE_CAPACITY = 8;

/** A real HTTP service on loopback: 10 % of the calls fail, 3 % hang, and more than 8 at once are refused. */
const service = createServer((_request, response) => {
  seen.calls++;
  seen.atOnce++;
  seen.mostAtOnce = Math.max(seen.mostAtOnce, seen.atOnce);
  response.on('close', () => seen.atOnce--);
  if (seen.atOnce > SERVICE_CAPACITY) return response.writeHead(429).end();
  const fate = Math.random();
  if (fate < 0.1) return response.writeHead(503).end();
  if (fate < 0.13) return undefined;
  return setTimeout(() => response.end('ok'), 20 + Math.random() * 40);
});
const seen = { calls: 0, atOnce: 0, mostAtOnce: 0 };
await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${service.address().port}/`;

const counted = { failures: 0, timeouts: 0 };
const limit = pLimit(SERVICE_CAPACITY);

/** One call: at most 250 ms a try, up to 8 retries, never more than the service can bear. */
const call = () =>
  limit(() =>
    retry(
      () =>
        timeout(async (signal) => {
          const response = await fetch(url, { signal });
          if (!response.ok) throw new Error(`HTTP ${response.status}`);
          return response.text();
        }, 250),
      {
        retries: 8,
        backoff: 'exponential',
        jitter: 0.5,
        onRetry: ({ error }) => counted[isTimeoutError(error) ? 'timeouts' : 'failures']++,
      },
    ),
  );

console.log(`async-utils under load: ${REQUESTS} calls to a service that fails 1 in 10, hangs 3 in 100`);
console.log(`and bears ${SERVICE_CAPACITY} callers at once.\n`);
const startedAt = performance.now();
const bar = progressBar('answered', REQUESTS);
const outcomes = await Promise.allSettled(
  Array.from({ length: REQUESTS }, async () => {
    await call();
    bar.advance();
  }),
);
bar.stop();
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
const answered = outcomes.filter(({ status }) => status === 'fulfilled').length;

console.log(`
  answered            ${answered} of ${REQUESTS} in ${seconds} s
  calls made          ${seen.calls}
  failures retried    ${counted.failures}
  hanging calls cut   ${counted.timeouts}
  most at once        ${seen.mostAtOnce} (the limit is ${SERVICE_CAPACITY})
`);
service.closeAllConnections();
service.close();
