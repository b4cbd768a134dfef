import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type CutOrder, ProxiedConnection, type ProxySwitches } from './proxied-connection.js';

/** Where a proxy leads. */
export interface TcpProxyOptions {
  readonly targetHost: string;
  readonly targetPort: number;
}

/** A network between a client and a server that fails on command. */
export interface TcpProxy extends AsyncDisposable {
  /** On 127.0.0.1. */
  readonly port: number;
  /** How many client connections are open. */
  readonly connections: number;
  /** The proxy's address: `url('redis')` is `redis://127.0.0.1:<port>`. */
  url(scheme: string): string;
  /** Stops forwarding in both directions; connections, new ones too, stay open. */
  pause(): void;
  /** Forwards again, beginning with what came meanwhile. */
  resume(): void;
  /** Destroys all live connections; new ones are welcome. */
  cut(): void;
  /** While true, new connections are destroyed at once. */
  refuse(refused: boolean): void;
  /** While true, requests reach the server and its replies are swallowed. */
  dropReplies(dropped: boolean): void;
  /**
   * Loses one reply: the next chunk from a client that matches goes to the server, the server executes it, and the
   * connection is cut before a byte of the reply reaches the client. Other replies still outstanding on that
   * connection are lost with it. A request that does not fit one chunk must not have others under way before it.
   * @param matches - chooses the chunk, which may hold several requests; any unless given.
   * @returns when it has happened; rejects when the connection ends unanswered or the proxy is closed before.
   */
  cutAfterRequest(matches?: (chunk: Buffer) => boolean): Promise<void>;
  /** Cuts everything and stops listening; a second call does nothing. */
  close(): Promise<void>;
}

/**
 * Starts a TCP proxy on a free port of 127.0.0.1.
 * @param options - where it leads; the target need not be up.
 * @returns the proxy, listening.
 */
export async function startTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const proxy = new SwitchedProxy(options);
  await proxy.listen();
  return proxy;
}

class SwitchedProxy implements TcpProxy {
  readonly #target: TcpProxyOptions;
  readonly #listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  readonly #live = new Set<ProxiedConnection>();
  readonly #orders: CutOrder[] = [];
  #paused = false;
  #refused = false;
  #repliesDropped = false;
  #closing: Promise<void> | undefined;

  constructor(target: TcpProxyOptions) {
    this.#target = target;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#live.size;
  }

  async listen(): Promise<void> {
    this.#listener.listen(0, '127.0.0.1');
    await once(this.#listener, 'listening');
  }

  url(scheme: string): string {
    return `${scheme}://127.0.0.1:${this.port}`;
  }

  pause(): void {
    this.#paused = true;
    for (const connection of this.#live) connection.pause();
  }

  resume(): void {
    this.#paused = false;
    for (const connection of this.#live) connection.resume();
  }

  cut(): void {
    for (const connection of this.#live) connection.cut();
  }

  refuse(refused: boolean): void {
    this.#refused = refused;
  }

  dropReplies(dropped: boolean): void {
    this.#repliesDropped = dropped;
  }

  cutAfterRequest(matches: (chunk: Buffer) => boolean = () => true): Promise<void> {
    const happened = new Promise<void>((done, failed) => {
      if (this.#closing) failed(new Error('the proxy has been closed'));
      else this.#orders.push({ matches, done, failed });
    });
    happened.catch(() => {}); // A test that does not wait for it must not fail for that alone.
    return happened;
  }

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

  #accept(client: Socket): void {
    if (this.#refused || this.#closing) {
      client.destroy();
      return;
    }
    const server = connect({
      host: this.#target.targetHost,
      port: this.#target.targetPort,
      allowHalfOpen: true,
    });
    const connection = new ProxiedConnection(client, server, this.#switches());
    this.#live.add(connection);
    connection.closed.then(() => this.#live.delete(connection));
  }

  #switches(): ProxySwitches {
    const proxy = this;
    return {
      get paused() {
        return proxy.#paused;
      },
      get repliesDropped() {
        return proxy.#repliesDropped;
      },
      takeOrder(chunk) {
        const index = proxy.#orders.findIndex((order) => order.matches(chunk));
        return index < 0 ? undefined : proxy.#orders.splice(index, 1)[0];
      },
    };
  }
}
