/*
 * A process of its own: an outbox that runs the DAGs it is told of. It says when it polls, which steps of chains it ran when asked, and ends
 * when told or when whoever started it is gone.
 */

import type { Step } from './chain.js';
import { dagOf } from './dag-brief.js';
import { openOutbox } from './millrace.js';
import type { PollerBrief } from './poller-process.js';

const { url, dags, ...options } = JSON.parse(process.argv[2] ?? '{}') as PollerBrief;
const steps: Step[] = [];
const defined = dags.map((brief) => dagOf(brief, (step) => steps.push(step)));
const { outbox, close } = await openOutbox({ ...options, dags: defined }, url);
process.once('disconnect', () => process.exit(0));
process.on('message', async (told) => {
  if (told === 'report') process.send?.(steps.splice(0));
  if (told !== 'stop') return;
  await close();
  process.exit(0);
});
await outbox.start();
process.send?.('polling');
