import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type CutOrder, ProxiedConnection, type ProxySwitches } from './proxied-connection.js';

interface TcpProxyTarget {
  readonly targetHost: string;
  readonly targetPort: number;
}

/** Starts a TCP proxy on a free port of 127.0.0.1. The target need not be up. */
export async function startTcpProxy(target: TcpProxyTarget): Promise<TcpProxy> {
  const listener = createServer({ allowHalfOpen: true });
  const proxy = new TcpProxy(target, listener);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return proxy;
}

/** A network between a client and a server that fails on command. */
export class TcpProxy implements AsyncDisposable {
  readonly #listener: Server;
  readonly #live = new Set<ProxiedConnection>();
  readonly #orders: CutOrder[] = [];
  readonly #switches: ProxySwitches = {
    paused: false,
    repliesDropped: false,
    takeOrder: (chunk) => {
      const index = this.#orders.findIndex((order) => order.matches(chunk));
      return index < 0 ? undefined : this.#orders.splice(index, 1)[0];
    },
  };
  #refused = false;
  #closing: Promise<void> | undefined;

  constructor({ targetHost: host, targetPort: port }: TcpProxyTarget, listener: Server) {
    this.#listener = listener.on('connection', (client) => {
      if (this.#refused || this.#closing) client.destroy();
      else this.#forward(client, connect({ host, port, allowHalfOpen: true }));
    });
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Number of open client connections. */
  get connections(): number {
    return this.#live.size;
  }

  /** The proxy's address: `url('redis')` is `redis://127.0.0.1:<port>`. */
  url(scheme: string): string {
    return `${scheme}://127.0.0.1:${this.port}`;
  }

  /** Stops forwarding in both directions. Connections, also new ones, stay open. */
  pause(): void {
    this.#switches.paused = true;
    for (const connection of this.#live) connection.pause();
  }

  /** Forwards again, first the bytes that arrived meanwhile. */
  resume(): void {
    this.#switches.paused = false;
    for (const connection of this.#live) connection.resume();
  }

  /** Destroys all connections. New ones are accepted. */
  cut(): void {
    for (const connection of this.#live) connection.cut();
  }

  /** While true, destroys new connections. */
  refuse(refused: boolean): void {
    this.#refused = refused;
  }

  /** While true, forwards requests and drops the server's replies. */
  dropReplies(dropped: boolean): void {
    this.#switches.repliesDropped = dropped;
  }

  /**
   * Loses one reply: forwards the next chunk of a client that matches, lets the server execute it, and cuts the connection
   * before a byte of the reply reaches the client. Other outstanding replies on that connection are lost too. A request
   * that does not fit into one chunk must not have others in flight before it.
   * @param matches - chooses the chunk, which may hold several requests (any chunk).
   * @returns resolves when it has happened; rejects if the connection ends without a reply or the proxy is closed.
   */
  cutAfterRequest(matches: (chunk: Buffer) => boolean = () => true): Promise<void> {
    const happened = new Promise<void>((done, failed) => {
      if (this.#closing) failed(new Error('the proxy has been closed'));
      else this.#orders.push({ matches, done, failed });
    });
    happened.catch(() => {}); // A test that does not await it must not fail for that alone.
    return happened;
  }

  /** Cuts everything and stops listening. Calls share one promise. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    const unanswered = new Error('the proxy was closed before any request');
    for (const order of this.#orders.splice(0)) order.failed(unanswered);
    const ended = [...this.#live].map((connection) => connection.closed);
    this.cut();
    await Promise.all([closed, ...ended]);
  }

  #forward(client: Socket, server: Socket): void {
    const connection = new ProxiedConnection(client, server, this.#switches);
    this.#live.add(connection);
    connection.closed.then(() => this.#live.delete(connection));
  }
}
