import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as a server received it. */
interface SeenRequest extends Pick<IncomingMessage, 'headers'> {
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

/** Starts a server and returns its address. It is closed when the test ends. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a server that reads and records each request before it answers. `index` counts the requests from 0. */
export async function startServer(
  answer: (response: ServerResponse, request: SeenRequest, index: number) => void,
): Promise<{ url: string; seen: SeenRequest[] }> {
  const seen: SeenRequest[] = [];
  const url = await listen(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: (await request.toArray()).join('') };
    seen.push(one);
    answer(response, one, seen.length - 1);
  });
  return { url, seen };
}

/** Answers with JSON. */
export const json = (response: ServerResponse, status: number, body: object, headers: object = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** Answers with a problem. */
export const problem = (response: ServerResponse, status: number, code: string, headers: object = {}) =>
  json(
    response,
    status,
    { title: code, status, detail: `because of ${code}`, code, retryable: true },
    headers,
  );
