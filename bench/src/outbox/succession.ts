import type { Gauge } from '../gauges.js';
import { quantile } from '../measure.js';
import { type ChainBrief, chainDag, waitsBetween } from './chain.js';
import { ANY_BATCH_OPEN, emptyOutbox, openOutbox } from './millrace.js';
import { type PollerProcess, startPoller } from './poller-process.js';
import { databaseUrl, drained } from './server.js';

/** A chain with nothing else to do: how long from the return of a handler to the start of its successor's. */
export const succession = (brief: ChainBrief, pollers: number): Gauge => ({
  work: `chain of ${brief.length} tasks, ${brief.mode}, ${pollers === 1 ? 'one poller process' : `${pollers} poller processes`}`,
  readings: [
    { name: 'end of a task to start of its successor, p50', unit: 'ms' },
    { name: 'the same, p99', unit: 'ms' },
  ],
  async run() {
    await emptyOutbox();
    const url = await databaseUrl();
    const dag = chainDag(brief, () => {});
    const { outbox, close } = await openOutbox({ poll: false, dags: [dag] });
    await outbox.start();
    const processes: PollerProcess[] = [];
    try {
      for (let poller = 0; poller < pollers; poller++)
        processes.push(await startPoller({ url, dags: [{ kind: 'chain', ...brief }] }));
      // The first warms up: connections, prepared statements, compiled code.
      for (const batch of ['warm-up', 'measured']) {
        await outbox.pusher.start(dag.name, batch);
        await drained(ANY_BATCH_OPEN);
      }
      const reports = await Promise.all(processes.map((poller) => poller.report()));
      const waits = waitsBetween(reports.flat().filter(({ batch }) => batch === 'measured'));
      return [quantile(waits, 0.5) / 1000, quantile(waits, 0.99) / 1000];
    } finally {
      await Promise.all(processes.map((poller) => poller.stop()));
      await close();
    }
  },
});
