/*
 * A process of its own: an application that serves operations, or a bare Fastify beside which it is measured. It says where it listens, what it
 * has used when asked, and ends with whoever started it.
 */

import type { ServerBrief, ServerReady, ServerUsage } from './server-brief.js';

/** Each loads only what it needs: the memory of the one is not that of the other. */
async function serve(brief: ServerBrief): Promise<number> {
  if (brief.serves === 'nothing') return (await import('./serve-nothing.js')).serveNothing();
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
