import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, Connections } from '../src/orchestrator/connections.js';
import type { OpenLoopBrief } from '../src/orchestrator/load-brief.js';
import { openLoop } from '../src/orchestrator/open-loop.js';
import { isOutcomeOf, statusUrlOf, workRequests } from '../src/orchestrator/requests.js';

type Handler = (request: IncomingMessage, body: string, response: ServerResponse) => void;

async function serve(handle: Handler): Promise<number> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    handle(request, body, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const json = (response: ServerResponse, status: number, body: object, headers: object = {}) => {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-length': text.length, ...headers }).end(text);
};
const OP_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const URL_OF_IT = `/api/operations/${OP_ID}/status`;
const ok = (n: number) => ({ opId: OP_ID, status: 'COMPLETED', outcome: { type: 'Ok', data: { n } } });
const accepted = { opId: OP_ID, status: 'IN_PROGRESS', statusUrl: URL_OF_IT };

const brief = (port: number, more: Partial<OpenLoopBrief> = {}): OpenLoopBrief => ({
  kind: 'open',
  port,
  perSecond: 500,
  seconds: 0.02,
  warmUpSeconds: 0,
  budgetMs: 200,
  fastMs: 20,
  slowMs: 500,
  slowEvery: 5,
  ...more,
});
const measured = (of: OpenLoopBrief) => openLoop(of, async () => {});

describe('the load on the orchestrator', () => {
  it('orchestrator NFR-1: counts right answers as right and asks for every operation that goes on', async () => {
    let asked = 0;
    const numbers: number[] = [];
    const port = await serve((request, body, response) => {
      if (request.method === 'GET') {
        asked += 1;
        // The two slow ones of ten, in any order.
        json(response, 200, { state: 'COMPLETED', outcome: { type: 'Ok', data: { n: numbers.pop() } } });
        return;
      }
      const { payload } = JSON.parse(body);
      if (payload.ms === 20) return json(response, 200, ok(payload.n));
      numbers.push(payload.n);
      json(response, 202, accepted, { location: URL_OF_IT });
    });
    const report = await measured(brief(port, { seconds: 0.01, slowEvery: 5 }));
    expect(report).toMatchObject({ requests: 5, errors: 0, fastConverted: 0, unfinished: 0 });
    expect(asked).toBe(1);
  });

  it('orchestrator NFR-1: any other answer is an error: another one’s outcome, a failure, a lost connection, no Location', async () => {
    const wrong: Handler[] = [
      (_, __, response) => json(response, 200, ok(7)),
      (_, __, response) => json(response, 503, {}),
      (request) => request.socket.destroy(),
      (_, __, response) => json(response, 202, accepted),
    ];
    for (const handle of wrong) {
      const report = await measured(brief(await serve(handle), { slowEvery: 1_000 }));
      expect(report).toMatchObject({ requests: 10, errors: 10, fastConverted: 0, unfinished: 0 });
      expect(report.complaints).toEqual([expect.stringContaining('10 times')]);
    }
  });

  it('orchestrator NFR-1: a status URL for fast work is an error, and an operation that does not end is told', async () => {
    const port = await serve((request, _, response) => {
      if (request.method === 'GET') json(response, 200, { state: 'FAILED', outcome: { type: 'Fail' } });
      else json(response, 202, accepted, { location: URL_OF_IT });
    });
    const report = await measured(brief(port, { slowEvery: 2 }));
    expect(report).toMatchObject({ requests: 10, errors: 5, fastConverted: 5, unfinished: 10 });
  });

  it('orchestrator NFR-1: times begin when a request should have been sent, also for those that a stalled server holds up', async () => {
    const STALL_MS = 100;
    let isFirst = true;
    const port = await serve((_, body, response) => {
      const answer = () => json(response, 200, ok(JSON.parse(body).payload.n));
      if (!isFirst) return answer();
      isFirst = false;
      // Nothing is answered for a while: the whole process stands still, the load with it.
      const until = performance.now() + STALL_MS;
      while (performance.now() < until);
      answer();
    });
    const report = await measured(brief(port, { perSecond: 1_000, seconds: 0.08, slowEvery: 1_000 }));
    expect(report.errors).toBe(0);
    // All of them were due during the stall; a load that waits for answers would see one slow request.
    expect(report.all.p50).toBeGreaterThan(STALL_MS / 4);
  });

  it('reads answers that come in pieces, and gives waiting requests the next free connection', async () => {
    const port = await serve((_, body, response) => {
      const text = JSON.stringify(ok(JSON.parse(body).payload.n));
      response.writeHead(200, { 'content-length': text.length });
      response.write(text.slice(0, 10));
      setImmediate(() => response.end(text.slice(10)));
    });
    const connections = new Connections(port, 2);
    onTestFinished(() => connections.close());
    const requests = workRequests('/api/operations', 0, 200);
    const answers = await Promise.all(
      Array.from(
        { length: 6 },
        (_, at) =>
          new Promise<Answer | Error>((resolve) => {
            connections.send(requests.of(at), resolve);
          }),
      ),
    );
    answers.forEach((answer, at) => {
      if (answer instanceof Error) throw answer;
      expect(answer.status).toBe(200);
      expect(isOutcomeOf(answer.body, requests.numberOf(at))).toBe(true);
      expect(isOutcomeOf(answer.body, requests.numberOf(at + 1))).toBe(false);
    });
  });

  it('a request says its own length and number; a status URL counts only where header and body agree', () => {
    const text = workRequests('/api/operations', 20, 200).of(41);
    const [head, body] = text.split('\r\n\r\n') as [string, string];
    expect(head).toContain(`content-length: ${body.length}`);
    expect(JSON.parse(body)).toMatchObject({ bizKey: 'order-10000041', payload: { ms: 20, n: 10_000_041 } });
    const answer = JSON.stringify(accepted);
    expect(statusUrlOf(`HTTP/1.1 202 Accepted\r\nlocation: ${URL_OF_IT}`, answer)).toBe(URL_OF_IT);
    expect(statusUrlOf('HTTP/1.1 202 Accepted\r\nlocation: /elsewhere', answer)).toBeUndefined();
  });
});
