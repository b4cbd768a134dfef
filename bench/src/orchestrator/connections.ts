import { connect, type Socket } from 'node:net';
import { HOST } from './server-brief.js';

/** What a server answered. */
export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Called once, with the answer or with what went wrong. */
export type OnAnswer = (answer: Answer | Error) => void;

interface Request {
  readonly text: string;
  readonly onAnswer: OnAnswer;
}

interface Connection {
  readonly socket: Socket;
  received: string;
  request: Request | undefined;
}

/** Answers here are a few hundred bytes. */
const READ_BYTES = 4_096;
const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: (\d+)/i;

/**
 * Keep-alive connections to one server, each with one request at a time; those that find none free wait. Written for this load alone (ASCII
 * bodies of a known length): with a client for everything, on two cores, the bare server would wait for the load and not the reverse.
 */
export class Connections {
  readonly #port: number;
  readonly #most: number;
  readonly #all = new Set<Connection>();
  readonly #free: Connection[] = [];
  readonly #waiting: Request[] = [];

  /** @param most - connections at once. */
  constructor(port: number, most: number) {
    this.#port = port;
    this.#most = most;
  }

  /** Opens connections before they are needed. */
  async open(count: number): Promise<void> {
    const opened = Array.from({ length: count }, () => {
      const connection = this.#connect();
      this.#free.push(connection);
      return new Promise((resolve) => connection.socket.once('connect', resolve));
    });
    await Promise.all(opened);
  }

  /** Sends a request; `onAnswer` may be called before this returns only if it failed. */
  send(text: string, onAnswer: OnAnswer): void {
    const request = { text, onAnswer };
    const connection = this.#free.pop() ?? (this.#all.size < this.#most ? this.#connect() : undefined);
    if (connection) this.#give(connection, request);
    else this.#waiting.push(request);
  }

  /** Closes all of them. */
  close(): void {
    for (const { socket } of this.#all) socket.destroy();
  }

  #give(connection: Connection, request: Request): void {
    connection.request = request;
    connection.socket.write(request.text, 'latin1');
  }

  #connect(): Connection {
    const onread = {
      buffer: Buffer.allocUnsafe(READ_BYTES),
      callback: (bytes: number, buffer: Uint8Array) => {
        this.#received(connection, (buffer as Buffer).toString('latin1', 0, bytes));
        return true;
      },
    };
    const socket = connect({ port: this.#port, host: HOST, noDelay: true, onread });
    const connection: Connection = { socket, received: '', request: undefined };
    this.#all.add(connection);
    socket.on('error', () => {}); // Its end is told by 'close'.
    socket.on('close', () => this.#lost(connection));
    return connection;
  }

  #received(connection: Connection, text: string): void {
    connection.received += text;
    const { received, request } = connection;
    const headEnd = received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = received.slice(0, headEnd);
    const length = Number(LENGTH.exec(head)?.[1]);
    const bodyAt = headEnd + HEAD_END.length;
    // No length: nobody can tell where the next answer begins.
    if (!Number.isSafeInteger(length) || !request) return void connection.socket.destroy();
    if (received.length < bodyAt + length) return;
    connection.received = received.slice(bodyAt + length);
    connection.request = undefined;
    // First the next one: the answer may ask for another, which must not overtake those who wait.
    const next = this.#waiting.shift();
    if (next) this.#give(connection, next);
    else this.#free.push(connection);
    request.onAnswer({
      status: Number(head.slice(9, 12)),
      head,
      body: received.slice(bodyAt, bodyAt + length),
    });
  }

  #lost(connection: Connection): void {
    this.#all.delete(connection);
    const at = this.#free.indexOf(connection);
    if (at >= 0) this.#free.splice(at, 1);
    connection.request?.onAnswer(new Error('the connection was lost'));
    const next = this.#waiting.shift();
    if (next) this.#give(this.#connect(), next);
  }
}
