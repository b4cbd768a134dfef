import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that arrived. */
interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A web server on loopback that keeps what it is asked. */
export interface WebServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** How many connections were made. */
  readonly connections: number;
  /** How many are open. */
  readonly open: number;
}

/** How it answers; `request` is complete. */
export type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

/** Starts a server on an address of loopback. */
export async function startWebServer(
  answer: Answer = (response) => response.end('ok'),
  { host = '127.0.0.1', port = 0 } = {},
): Promise<WebServer> {
  const requests: ReceivedRequest[] = [];
  let connections = 0;
  let open = 0;
  const server = createServer((message, response) => {
    void read(message).then((request) => {
      requests.push(request);
      answer(response, request);
    });
  });
  server.on('connection', (socket) => {
    connections += 1;
    open += 1;
    socket.on('close', () => {
      open -= 1;
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const bound = server.address() as AddressInfo;
  return {
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    port: bound.port,
    requests,
    get connections() {
      return connections;
    },
    get open() {
      return open;
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function read(message: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of message) chunks.push(chunk);
  } catch {
    // The client broke off.
  }
  const { method = '', url = '', headers } = message;
  return { method, path: url, headers, body: Buffer.concat(chunks) };
}
