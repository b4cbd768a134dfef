import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One answer of the called service. */
export interface ServiceAnswer {
  readonly at: number;
  readonly job: string;
  readonly status: number;
}

/** A service that jobs call over HTTP; it lives outside the engine and keeps its own record. */
export class CalledService implements AsyncDisposable {
  readonly answers: ServiceAnswer[] = [];
  readonly #server = createServer(({ url = '' }, response) => this.#answer(url.slice(1), response));
  #available = true;

  /** Where it is; job names are appended. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Opens its port. */
  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Whether it does its work from now on, or answers 503 at once. */
  set available(available: boolean) {
    this.#available = available;
  }

  /** Closes its port and every connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(job: string, response: ServerResponse): void {
    const status = this.#available ? 200 : 503;
    this.answers.push({ at: Date.now(), job: decodeURIComponent(job), status });
    response.writeHead(status).end();
  }
}
