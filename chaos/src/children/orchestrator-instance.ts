/*
 * One instance of an orchestrator, with the outbox that runs its batches. Takes commands over HTTP; kills itself at the steps that the plan
 * names. Says `up` to its parent when it works, drains on SIGTERM, and does not outlive its parent.
 */

import { openInstance } from '../orchestrator/open-instance.js';
import type { InstanceBrief } from '../orchestrator/settings.js';

const instance = openInstance(JSON.parse(process.argv[2] ?? '{}') as InstanceBrief);
const { orchestrator, ledger } = instance;
orchestrator.events.on('repaired', ({ by, opId, became }) => {
  ledger.append({ kind: 'repaired', by, op: opId, became });
});
process.on('disconnect', () => process.exit(1));
process.once('SIGTERM', async () => {
  const from = performance.now();
  await instance.close();
  ledger.append({ kind: 'drained', tookMs: Math.round(performance.now() - from) });
  process.removeAllListeners('disconnect');
  process.disconnect();
});
try {
  await instance.open();
} catch (error) {
  ledger.append({ kind: 'not-started', error: String(error).slice(0, 300) });
  process.exit(1);
}
process.send?.('up');
