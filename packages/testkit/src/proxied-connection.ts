import type { Socket } from 'node:net';

/** The state of the proxy that all its connections read. */
export interface ProxySwitches {
  paused: boolean;
  repliesDropped: boolean;
  /** Returns the order to cut after this chunk, if there is one. */
  takeOrder(chunk: Buffer): CutOrder | undefined;
}

/** An order to cut a connection between the execution of a request and its reply. */
export interface CutOrder {
  readonly matches: (chunk: Buffer) => boolean;
  done(): void;
  failed(reason: Error): void;
}

/**
 * - `forwarding`: bytes pass both ways.
 * - `awaiting-reply`: the chosen request has gone to the server. No more bytes reach the client.
 * - `draining`: the first byte of a reply has come, and the server knows that no more requests follow. It closes when it
 *   has executed all it was sent. The first byte alone does not prove that: it may belong to an earlier request.
 * - `over`: both sockets are destroyed or closing.
 *
 *     forwarding ──chosen request──▶ awaiting-reply ──first byte──▶ draining ──server closes──▶ over
 */
type Phase = 'forwarding' | 'awaiting-reply' | 'draining' | 'over';

/** One client's connection through the proxy. */
export class ProxiedConnection {
  readonly closed: Promise<unknown>;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #switches: ProxySwitches;
  #phase: Phase = 'forwarding';
  #order: CutOrder | undefined;

  /** Both sockets are half-open: an end in one direction must not end the other. */
  constructor(client: Socket, server: Socket, switches: ProxySwitches) {
    this.#client = client;
    this.#server = server;
    this.#switches = switches;
    this.closed = Promise.all(
      [client, server].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    );
    if (switches.paused) this.pause();
    this.#listen();
  }

  /** Stops reading on both sides. Both connections stay open. */
  pause(): void {
    this.#client.pause();
    this.#server.pause();
  }

  /** Reads again, except where the other side has not taken the bytes that were read before. */
  resume(): void {
    this.#readOn(this.#client, this.#server);
    this.#readOn(this.#server, this.#client);
  }

  /** Destroys both sockets. */
  cut(): void {
    this.#end(new Error('the connection was cut before the request was answered'));
  }

  #listen(): void {
    const client = this.#client;
    const server = this.#server;
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => {}); // 'close' follows and is handled.
    }
    client.on('drain', () => this.#readOn(server, client));
    server.on('drain', () => this.#readOn(client, server));
    client.on('data', (chunk: Buffer) => this.#request(chunk));
    server.on('data', (chunk: Buffer) => this.#reply(chunk));
    client.on('end', () => server.end());
    server.on('end', () => this.#serverEnded());
    client.on('close', () => {
      // The request of an order is executed even if its client gives up.
      if (this.#phase === 'forwarding') this.cut();
    });
    server.on('close', (hadError) => {
      if (this.#phase === 'forwarding' && !hadError) client.end();
      else this.#serverEnded(hadError);
    });
  }

  #request(chunk: Buffer): void {
    if (this.#phase === 'forwarding') {
      this.#order = this.#switches.takeOrder(chunk);
      if (this.#order) this.#loseReplies();
    }
    if (!this.#server.write(chunk)) this.#client.pause();
  }

  #loseReplies(): void {
    this.#phase = 'awaiting-reply';
    this.#readOn(this.#server, this.#client); // Whether the client takes its replies no longer matters.
  }

  #reply(chunk: Buffer): void {
    if (this.#phase === 'awaiting-reply') {
      this.#phase = 'draining';
      this.#client.pause();
      this.#server.end();
    }
    if (this.#phase !== 'forwarding' || this.#switches.repliesDropped) return;
    if (!this.#client.write(chunk)) this.#server.pause();
  }

  #serverEnded(hadError = false): void {
    if (this.#phase === 'draining' && !hadError) this.#end();
    else if (this.#phase !== 'forwarding' || hadError) {
      this.#end(new Error('the server closed the connection without an answer'));
    } else this.#client.end();
  }

  #end(failure?: Error): void {
    this.#phase = 'over';
    this.#client.destroy();
    this.#server.destroy();
    if (failure) this.#order?.failed(failure);
    else this.#order?.done();
    this.#order = undefined;
  }

  #readOn(from: Socket, to: Socket): void {
    if (this.#switches.paused) return;
    if (from === this.#client && this.#phase === 'draining') return;
    const swallowed = from === this.#server && this.#phase !== 'forwarding';
    if (swallowed || !to.writableNeedDrain) from.resume();
  }
}
