import { ProblemError, type ServerClient } from '@millrace/contract/server-client';
import { systemClock, systemRng } from '@millrace/foundation';
import type { Asking } from '../ask/asking.js';
import { type SomeServer, someServer } from '../ask/some-server.js';
import { amount } from '../show/amounts.js';
import { ProgressBars } from '../show/progress-bars.js';
import type { BenchResult, BenchSize, MeasuredOn, Progress } from './bench-model.js';
import { measureJobs } from './measure-jobs.js';
import { measureOperations } from './measure-operations.js';
import { showBench } from './show-bench.js';

/**
 * Measures jobs and operations on a server and prints the results.
 * @param size - 0 skips a part.
 * @throws MillraceError, ProblemError if a measurement fails.
 */
export async function runBench(asking: Asking, size: BenchSize): Promise<undefined> {
  await using server = await someServer(asking);
  const on = await measuredOn(server, asking.signal);
  const result = await measured(asking, server, on, size);
  asking.answer(result, (printer) => showBench(printer, result));
  asking.printer.remark(
    'A quick look at this server as it is now; the benchmark is `npm run bench` in the repository.',
  );
  return undefined;
}

async function measured(
  asking: Asking,
  { client, once }: SomeServer,
  on: MeasuredOn,
  size: BenchSize,
): Promise<BenchResult> {
  const { signal, surroundings } = asking;
  using bars = new ProgressBars(surroundings);
  const progressOf =
    (label: string): Progress =>
    (done, total) =>
      bars.set(label, { label, done, total, note: `${amount(done)} of ${amount(total)}` });
  const part = { clock: systemClock, signal };
  const groupId = `bench-${systemClock.now().toString(36)}-${systemRng()
    .integer(0, 2 ** 32 - 1)
    .toString(36)}`;
  return {
    on,
    clients: size.clients,
    jobs:
      size.jobs === 0
        ? null
        : await measureJobs({ ...part, client, progress: progressOf('jobs done') }, size, groupId),
    operations:
      size.operations === 0
        ? null
        : await measureOperations({ ...part, client: once, progress: progressOf('operations') }, size),
  };
}

async function measuredOn({ client, url, isOwn }: SomeServer, signal: AbortSignal): Promise<MeasuredOn> {
  const [{ version, embedded }, pool] = await Promise.all([
    client.call('getCaller', {}, { signal }),
    poolOf(client, signal),
  ]);
  return { url, ownServer: isOwn, version, embedded, ...pool };
}

async function poolOf(
  client: ServerClient,
  signal: AbortSignal,
): Promise<Pick<MeasuredOn, 'instances' | 'workers'>> {
  try {
    const { instances, workerCount } = await client.call('getPool', {}, { signal });
    return { instances: instances.length, workers: workerCount };
  } catch (error) {
    // A key of a tenant may submit work, and see nothing of who runs it.
    if (error instanceof ProblemError && error.status === 403) return { instances: null, workers: null };
    throw error;
  }
}
