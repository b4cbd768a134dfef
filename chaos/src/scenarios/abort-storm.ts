import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import {
  isAbortError,
  isRetryError,
  type LimitFunction,
  pLimit,
  retry,
  timeout,
  wait,
} from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import {
  type LedgerEntry,
  openLedger,
  readLedger,
  requireNoLeaks,
  settledResources,
} from '@millrace/testkit';
import { registerScenario, type ScenarioContext, type Verdict } from '../registry.js';

const TASKS = 20_000;
const RETRIES = 2;
const TRY_MS = 8;

/** Real timers, failing and hanging work, aborts and limit changes all at once; judged by the ledger of the work. */
async function run({ rng, scale, folder }: ScenarioContext): Promise<Verdict[]> {
  const tasks = Math.max(200, Math.round(TASKS * scale));
  const path = join(folder, 'ledger');
  using ledger = openLedger(path);
  const before = await settledResources();
  const limit = pLimit(50);
  const controllers = Array.from({ length: 20 }, () => new AbortController());
  const ends = { value: 0, exhausted: 0, aborted: 0, other: 0 };

  const work = (task: number) => (attempt: number) => async (signal: AbortSignal) => {
    ledger.append({ kind: 'start', task, attempt });
    try {
      await misbehave(rng, signal);
    } finally {
      ledger.append({ kind: 'end', task, attempt });
    }
  };
  const all = Array.from({ length: tasks }, (_, task) => {
    const signal = rng.chance(0.5) ? rng.pick(controllers).signal : undefined;
    const tries = () =>
      retry(({ attempt }) => timeout(work(task)(attempt), { ms: TRY_MS, signal }), {
        retries: RETRIES,
        backoff: () => rng.integer(0, 3),
        signal,
      });
    return limit.run(tries, { signal, priority: rng.integer(0, 10) }).then(
      () => ends.value++,
      (error: unknown) =>
        ends[isAbortError(error) ? 'aborted' : isRetryError(error) ? 'exhausted' : 'other']++,
    );
  });
  const storm = blow(rng, limit, controllers);
  await Promise.all(all);
  await storm;
  await limit.onIdle();
  const leak = await requireNoLeaks(before).then(
    () => '',
    (error: Error) => error.message,
  );
  const listeners = controllers.reduce(
    (sum, { signal }) => sum + getEventListeners(signal, 'abort').length,
    0,
  );

  const entries = readLedger(path);
  const settled = ends.value + ends.exhausted + ends.aborted + ends.other;
  const most = mostTries(entries);
  return [
    {
      invariant: 'I1 no loss',
      held: settled === tasks && ends.other === 0 && ends.aborted > 0,
      evidence: `${tasks} submitted: ${ends.value} done, ${ends.exhausted} out of tries, ${ends.aborted} aborted`,
    },
    {
      invariant: 'I3 executions ≤ 1 + retries',
      held: most <= 1 + RETRIES,
      evidence: `at most ${most} tries of one task, ${entries.filter(({ kind }) => kind === 'start').length} in all`,
    },
    {
      invariant: 'I9 nothing left behind',
      held: leak === '' && listeners === 0 && limit.activeCount === 0,
      evidence: leak || `${listeners} listeners, ${limit.activeCount} slots taken`,
    },
  ];
}

/** Succeeds, fails, or hangs until it is told to stop. */
async function misbehave(rng: Rng, signal: AbortSignal): Promise<void> {
  const how = rng.next();
  if (how < 0.1) throw new Error('the service failed');
  await wait(how < 0.15 ? 60_000 : rng.integer(0, 3), { signal });
}

/** Moves the limit and aborts groups of tasks, the first one at once, until the queue is empty. */
async function blow(rng: Rng, limit: LimitFunction, controllers: readonly AbortController[]): Promise<void> {
  const victims = rng.shuffle(controllers).slice(0, controllers.length / 2);
  for (let next = victims.pop(); limit.pendingCount > 0; next = rng.chance(0.1) ? victims.pop() : undefined) {
    next?.abort();
    limit.concurrency = rng.integer(1, 100);
    await wait(rng.integer(1, 20));
  }
}

function mostTries(entries: readonly LedgerEntry[]): number {
  const tries = new Map<unknown, number>();
  for (const { kind, task } of entries) {
    if (kind === 'start') tries.set(task, (tries.get(task) ?? 0) + 1);
  }
  return Math.max(...tries.values());
}

registerScenario({
  name: 'abort-storm',
  what: 'async-utils in real time: failing and hanging work, aborts and limit changes at once',
  run,
});
