/*
 * A process of its own: the load. It runs one loop at a time, as it is told; before the requests of an open loop that count it says that it is
 * warm, and goes on when told. It ends with whoever started it.
 */

import { once } from 'node:events';
import { closedLoop } from './closed-loop.js';
import type { ClosedLoopBrief, OpenLoopBrief, Warm } from './load-brief.js';
import { openLoop } from './open-loop.js';

process.once('disconnect', () => process.exit(0));
process.send?.('ready');
for (;;) {
  const [brief] = (await once(process, 'message')) as [OpenLoopBrief | ClosedLoopBrief];
  const run = brief.kind === 'closed' ? closedLoop(brief) : openLoop(brief, onWarm);
  process.send?.(await run);
}

async function onWarm(): Promise<void> {
  const told = once(process, 'message');
  process.send?.({ warm: true } satisfies Warm);
  await told;
}
