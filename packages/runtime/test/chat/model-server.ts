import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Latch, latch } from '@millrace/testkit';
import { onTestFinished } from 'vitest';

/** What the endpoint was asked. */
interface Asked {
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: { readonly model: string; readonly stream: boolean; readonly messages: readonly unknown[] };
}

/** One answer of the endpoint, in the test's hands. */
export type Answer = (response: ServerResponse, asked: Asked) => void;

/** A local endpoint that answers as told; closed when the test ends. */
export async function startModelServer(answer: Answer) {
  const asked: Asked[] = [];
  const hungUp: Latch<void> = latch('the client to hang up');
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    response.on('close', () => hungUp.open());
    response.on('error', () => {});
    const question = { path: request.url, headers: request.headers, body: JSON.parse(body) };
    asked.push(question);
    answer(response, question);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, asked, hungUp };
}

/** The event that adds a text to the answer. */
export const delta = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

/** Begins a streamed answer. */
export function stream(response: ServerResponse, ...events: readonly string[]): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(event);
  return response;
}
