import type { AddressInfo, Socket } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A message that the server took. */
interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  readonly parsed: Email;
}

/** A mail server on loopback. */
export interface MailServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  /** How many connections were made. */
  readonly connections: number;
  /** How many are open. */
  readonly open: number;
  /** Ends every connection, in the middle of whatever it does. */
  cut(): void;
}

/** A refusal of the server, as smtp-server wants it. */
export const reply = (responseCode: number, text = 'as the test asked'): Error =>
  Object.assign(new Error(text), { responseCode });

/** Starts a mail server; `options` are smtp-server's, with its handlers for every step of the conversation. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  let connections = 0;
  let open = 0;
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 50,
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks);
        const from = envelope.mailFrom ? envelope.mailFrom.address : '';
        const to = envelope.rcptTo.map(({ address }) => address);
        received.push({ from, to, raw: raw.toString(), parsed: await PostalMime.parse(raw) });
        done();
      });
    },
    ...options,
    onConnect(session, done) {
      connections += 1;
      open += 1;
      if (options.onConnect) options.onConnect(session, done);
      else done();
    },
    onClose(session, done) {
      open -= 1;
      options.onClose?.(session, done);
    },
  });
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('error', () => {}); // Clients that break off are part of the tests.
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    port,
    received,
    get connections() {
      return connections;
    },
    get open() {
      return open;
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
