import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import packet from 'dns-packet';
import type { ResolveHost } from '../../src/processors/index.js';

/** A name server on loopback. */
export interface NameServer extends AsyncDisposable {
  /** How often each name was asked for. */
  readonly asked: ReadonlyMap<string, number>;
  /** Asks it, and nobody else. */
  readonly resolve: ResolveHost;
}

/**
 * Starts a name server.
 * @param answers - the IPv4 addresses of a name, by how often it was asked before; none = no such name.
 */
export async function startNameServer(
  answers: (name: string, askedBefore: number) => readonly string[],
): Promise<NameServer> {
  const asked = new Map<string, number>();
  const socket = createSocket('udp4');
  socket.on('message', (message, { port, address }) => {
    const query = packet.decode(message);
    const name = query.questions?.[0]?.name ?? '';
    const before = asked.get(name) ?? 0;
    asked.set(name, before + 1);
    const found = answers(name, before);
    const answer = packet.encode({
      type: 'response',
      id: query.id ?? 0,
      // 3 = no such name.
      flags: found.length > 0 ? 0 : 3,
      questions: query.questions ?? [],
      // A life of 0 s: nobody keeps it, the next question gets the next answer.
      answers: found.map((data) => ({ type: 'A', name, ttl: 0, data })),
    });
    socket.send(answer, port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    asked,
    resolve: (hostname) => resolver.resolve4(hostname),
    [Symbol.asyncDispose]: () => new Promise((resolve) => socket.close(resolve)),
  };
}
