import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { HOST, OPERATIONS_PATH } from './server-brief.js';

/** A bare Fastify, as far as it is used here. */
interface BareFastify {
  post(path: string, handler: () => Promise<object>): void;
  listen(at: { port: number; host: string }): Promise<string>;
  readonly server: { address(): AddressInfo };
}

/**
 * Serves a route that does nothing, on the very Fastify that is below the orchestrator, without what NestJS adds to it.
 * @returns the port.
 */
export async function serveNothing(): Promise<number> {
  const below = createRequire(createRequire(import.meta.url).resolve('@nestjs/platform-fastify'));
  const app = (below('fastify') as () => BareFastify)();
  app.post(OPERATIONS_PATH, async () => ({}));
  await app.listen({ port: 0, host: HOST });
  return app.server.address().port;
}
