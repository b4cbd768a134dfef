/*
 * One worker process of the bulk engine on a shared Redis. Its processor writes the ledger before and after what it
 * does; a witness between engine and store writes down which leases it was given and how they were settled. Says `up`
 * to its parent when it works, drains on SIGTERM, and does not outlive its parent.
 */

import { wait } from '@millrace/async-utils';
import type { BulkStore, JobContext, Leases } from '@millrace/bulk-action';
import { NonRetryableError, RateLimitedError } from '@millrace/foundation';
import { openLedger } from '@millrace/testkit';
import { openEngine } from '../bulk/open-engine.js';
import { type JobScript, jobName } from '../bulk/plan.js';
import { PROCESSOR_TYPE, type WorkerBrief } from '../bulk/settings.js';

const { redis, ledger: path, config } = JSON.parse(process.argv[2] ?? '{}') as WorkerBrief;
const ledger = openLedger(path);
const leaseMs = config.reliableQueue?.ackTimeoutMs ?? 0;

/** What one try does to the world; the ledger is the world. */
async function act({ does, ms, url: service }: JobScript, name: string, context: JobContext): Promise<void> {
  const { attempt, signal } = context;
  if (does === 'exits') process.exit(1);
  if (does === 'blocks-first' && attempt === 1) holdEventLoop(1.5 * leaseMs);
  await wait(ms, { signal }).catch(() => {
    throw signal.reason;
  });
  if (does === 'calls') await call(`${service}${encodeURIComponent(name)}`, signal);
  if (does === 'refuses') throw new NonRetryableError('the service refused');
  if (does === 'fails-always' || (does === 'fails-first' && attempt === 1))
    throw new Error('the service failed');
  if (does === 'throttled-first' && attempt === 1) throw new RateLimitedError({ retryAfterMs: 50 });
}

/** A busy service is no fault of the job: it says so, and the job is tried again later. */
async function call(address: string, signal: AbortSignal): Promise<void> {
  const answer = await fetch(address, { signal });
  await answer.arrayBuffer();
  if (answer.status === 503) throw new RateLimitedError({ message: 'the service answered 503' });
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
}

const holdEventLoop = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const endingOf = (error: unknown, signal: AbortSignal): string => {
  if (signal.aborted) return 'aborted';
  return error instanceof RateLimitedError ? 'throttled' : 'failed';
};

const processor = {
  type: PROCESSOR_TYPE,
  async process(
    job: { groupId: string; id: string; payload: JobScript },
    context: JobContext,
  ): Promise<void> {
    const name = { job: jobName(job.groupId, job.id), attempt: context.attempt };
    ledger.append({ kind: 'began', ...name });
    try {
      await act(job.payload, name.job, context);
      ledger.append({ kind: 'ended', ...name, how: 'done' });
    } catch (error) {
      ledger.append({ kind: 'ended', ...name, how: endingOf(error, context.signal) });
      throw error;
    }
  },
};

function witnessed(store: BulkStore): BulkStore {
  const { leases } = store;
  const nameOf = ({ key, jobId }: { key: string; jobId: string }) => jobName(key.replace(/^\//, ''), jobId);
  const watched: Pick<Leases, 'reserve' | 'settle' | 'giveBack'> = {
    reserve: async (request) => {
      const answer = await leases.reserve(request);
      for (const job of answer.jobs) {
        ledger.append({ kind: 'leased', job: nameOf(job), attempt: job.attempt, token: job.token });
      }
      for (const job of answer.missing) ledger.append({ kind: 'missing', job: nameOf(job) });
      return answer;
    },
    settle: async (settlements) => {
      const answers = await leases.settle(settlements);
      settlements.forEach((one, index) => {
        const { status, jobStatus } = answers[index] ?? {};
        ledger.append({ kind: 'settled', job: nameOf(one), token: one.token, status, jobStatus });
      });
      return answers;
    },
    giveBack: async (refs) => {
      const answers = await leases.giveBack(refs);
      refs.forEach((ref, index) => {
        ledger.append({ kind: 'given-back', job: nameOf(ref), token: ref.token, to: answers[index] });
      });
      return answers;
    },
  };
  const rest: Omit<Leases, keyof typeof watched> = {
    renew: (refs) => leases.renew(refs),
    recover: (randoms) => leases.recover(randoms),
    giveBackAll: (instanceId, max) => leases.giveBackAll(instanceId, max),
    ...(leases.partOf && { partOf: (key) => leases.partOf?.(key) ?? 0 }),
  };
  const { groups, views, gate, upkeep, watch, aggregations, deadLetters, instances, once, wakeUps } = store;
  const parts = { groups, views, gate, upkeep, watch, aggregations, deadLetters, instances, once, wakeUps };
  return { ...parts, leases: { ...watched, ...rest }, start: () => store.start(), stop: () => store.stop() };
}

const opened = openEngine({ redis, config, processors: [processor], between: witnessed });
process.on('disconnect', () => process.exit(1));
process.once('SIGTERM', async () => {
  await opened.close();
  ledger.append({ kind: 'stopped' });
  process.removeAllListeners('disconnect');
  process.disconnect();
});
await opened.engine.start();
process.send?.('up');
