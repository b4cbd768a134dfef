/*
 * The server process of a benchmark. It runs an application that serves operations, or a bare Fastify to compare it with. It sends its port when
 * it listens, sends its usage after each message, and exits when its parent disconnects.
 */

import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import {
  HOST,
  OPERATIONS_PATH,
  type ServerBrief,
  type ServerReady,
  type ServerUsage,
} from './server-brief.js';

/** The part of Fastify that is used here. */
interface BareFastify {
  post(path: string, handler: () => Promise<object>): void;
  listen(at: { port: number; host: string }): Promise<string>;
  readonly server: { address(): AddressInfo };
}

/**
 * Serves a route that does nothing on the Fastify of the orchestrator, without NestJS.
 * @returns the port.
 */
async function serveNothing(): Promise<number> {
  const below = createRequire(createRequire(import.meta.url).resolve('@nestjs/platform-fastify'));
  const app = (below('fastify') as () => BareFastify)();
  app.post(OPERATIONS_PATH, async () => ({}));
  await app.listen({ port: 0, host: HOST });
  return app.server.address().port;
}

/** Loads only what it serves. The memory of the bare Fastify must not include the orchestrator. */
async function serve(brief: ServerBrief): Promise<number> {
  if (brief.serves === 'nothing') return serveNothing();
  return (await import('./serve-operations.js')).serveOperations(brief.store);
}

function usage(): ServerUsage {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return { cpuMs: (userCPUTime + systemCPUTime) / 1000, peakRssMb: maxRSS / 1024 };
}

process.once('disconnect', () => process.exit(0));
process.on('message', () => process.send?.(usage()));
const port = await serve(JSON.parse(process.argv[2] ?? '{}') as ServerBrief);
process.send?.({ port } satisfies ServerReady);
