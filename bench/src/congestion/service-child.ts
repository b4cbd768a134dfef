/*
 * A process of its own: the hidden service over HTTP on loopback. `POST /call` does the work or answers 429 at once,
 * `GET /report` says what was counted. Its time begins with the first call. It tells its port to whoever started it, and ends
 * with it.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HiddenService, type ServiceBrief } from './hidden-service.js';

const brief = JSON.parse(process.argv[2] ?? '{}') as ServiceBrief;
const service = new HiddenService(brief, Math.random);
let beganAt: number | undefined;

const server = createServer((request, response) => {
  request.resume();
  if (request.url === '/report') {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(service.report()));
    return;
  }
  const now = performance.now();
  beganAt ??= now;
  const afterMs = service.call(now - beganAt);
  if (afterMs === undefined) response.writeHead(429).end();
  else setTimeout(() => response.writeHead(200).end(), afterMs);
});

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
