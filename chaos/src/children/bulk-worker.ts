/*
 * One worker process of the bulk engine on a shared Redis. Its processor writes the ledger before and after what it
 * does; a witness between engine and store writes down which leases it was given and how they were settled. Says `up`
 * to its parent when it works, drains on SIGTERM, does not outlive its parent, and kills itself at the steps it is told.
 */

import { createHash } from 'node:crypto';
import { wait } from '@millrace/async-utils';
import type { BulkStore, JobContext, JobProcessor } from '@millrace/bulk-action';
import { NonRetryableError, RateLimitedError } from '@millrace/foundation';
import { openLedger } from '@millrace/testkit/ledger';
import { BAD_DEEDS, type NoteEnd } from '../bulk/bad-deeds.js';
import { countingAggregator } from '../bulk/counting-aggregator.js';
import { openEngine } from '../bulk/open-engine.js';
import { type JobScript, jobName } from '../bulk/plan.js';
import {
  IMPATIENT_RETRIES,
  IMPATIENT_TIMEOUT_MS,
  IMPATIENT_TYPE,
  PROBE_TYPE,
  PROCESSOR_TYPE,
  type WorkerBrief,
} from '../bulk/settings.js';
import { steppedStore } from '../bulk/stepped-store.js';
import { type AtStep, Killer } from '../bulk/steps.js';
import { twiceToldStore } from '../bulk/twice-told.js';
import { witnessedStore } from '../bulk/witness.js';

const brief = JSON.parse(process.argv[2] ?? '{}') as WorkerBrief;
const { redis, config, deaths, twiceTold } = brief;
const ledger = openLedger(brief.ledger);
const leaseMs = config.reliableQueue?.ackTimeoutMs ?? 0;
const at: AtStep = deaths ? new Killer(deaths, ledger).at : () => {};

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

interface GivenJob {
  readonly groupId: string;
  readonly id: string;
  readonly payload: JobScript;
}

async function work({ payload }: GivenJob, name: { job: string; attempt: number }, context: JobContext) {
  at('before effect');
  try {
    await act(payload, name.job, context);
    ledger.append({ kind: 'ended', ...name, how: 'done' });
  } catch (error) {
    ledger.append({ kind: 'ended', ...name, how: endingOf(error, context.signal) });
    throw error;
  }
  at('after effect');
  return { job: name.job };
}

/** Not async: what a bad deed gives back is to reach the engine as it is. */
function processJob(job: GivenJob, context: JobContext): unknown {
  const { payload } = job;
  const name = { job: jobName(job.groupId, job.id), attempt: context.attempt };
  ledger.append({ kind: 'began', ...name });
  if (payload.cargo !== undefined) {
    const print = createHash('sha256').update(JSON.stringify(payload)).digest('hex');
    ledger.append({ kind: 'given', ...name, print });
  }
  const bad = BAD_DEEDS[payload.bad ?? ''];
  if (!bad) return work(job, name, context);
  const note: NoteEnd = (how) => ledger.append({ kind: 'ended', ...name, how });
  return bad.act(context, note);
}

const processors: JobProcessor<never, unknown>[] = [
  { type: PROCESSOR_TYPE, process: processJob },
  { type: PROBE_TYPE, process: processJob },
  {
    type: IMPATIENT_TYPE,
    timeoutMs: IMPATIENT_TIMEOUT_MS,
    retry: { retries: IMPATIENT_RETRIES },
    process: processJob,
  },
];

function between(store: BulkStore): BulkStore {
  const told = twiceTold ? twiceToldStore(store, ledger) : store;
  const witnessed = witnessedStore(told, ledger);
  return deaths ? steppedStore(witnessed, at) : witnessed;
}

const aggregators = deaths ? [countingAggregator(at, deaths.marks)] : [];
const opened = openEngine({ redis, config, processors, aggregators, between });
process.on('disconnect', () => process.exit(1));
process.once('SIGTERM', async () => {
  await opened.close();
  ledger.append({ kind: 'stopped' });
  process.removeAllListeners('disconnect');
  process.disconnect();
});
await opened.engine.start();
process.send?.('up');
