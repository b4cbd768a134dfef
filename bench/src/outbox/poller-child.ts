/*
 * A process of its own: an outbox that runs chains. It says when it polls, what it ran when asked, and ends when told or when whoever
 * started it is gone.
 */

import { chainDag, type Step } from './chain.js';
import { openOutbox } from './millrace.js';
import type { PollerBrief } from './poller-process.js';

const { url, ...brief } = JSON.parse(process.argv[2] ?? '{}') as PollerBrief;
const steps: Step[] = [];
const { outbox, close } = await openOutbox({ dags: [chainDag(brief, (step) => steps.push(step))] }, url);
process.once('disconnect', () => process.exit(0));
process.on('message', async (told) => {
  if (told === 'report') process.send?.(steps.splice(0));
  if (told !== 'stop') return;
  await close();
  process.exit(0);
});
await outbox.start();
process.send?.('polling');
