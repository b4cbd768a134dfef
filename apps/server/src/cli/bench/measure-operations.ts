import { ProblemError } from '@millrace/contract/server-client';
import { allAtOnce } from './all-at-once.js';
import type { BenchSize, OperationsMeasured } from './bench-model.js';
import { type Measuring, perSecond } from './measure-jobs.js';

/** The longest that a server waits before it answers with a status address. */
const BUDGET_MS = 5_000;
/** Too many requests, or a backend that is away for a moment: no answer of an operation. */
const REFUSALS: readonly number[] = [429, 503];

/**
 * Measures the latency of operations that do nothing.
 * @param measuring - its client must not retry: a request and its retries would count as one.
 * @throws ProblemError, what `fetch` throws, the reason of the signal.
 */
export async function measureOperations(
  { client, clock, signal, progress }: Measuring,
  size: BenchSize,
): Promise<OperationsMeasured> {
  const count = size.operations;
  const latencies: number[] = [];
  const others = { converted: 0, refused: 0 };
  const begin = clock.monotonicMs();
  await allAtOnce(count, size.clients, async (n) => {
    const sentAt = clock.monotonicMs();
    try {
      const { status } = await client.operations.submit(
        { domain: 'DEMO', eventType: 'GREET', bizKey: 'bench', payload: { name: `caller ${n + 1}` } },
        { timeBudgetMs: BUDGET_MS, signal },
      );
      if (status === 'IN_PROGRESS') others.converted++;
      else latencies.push(clock.monotonicMs() - sentAt);
    } catch (error) {
      if (!(error instanceof ProblemError && REFUSALS.includes(error.status))) throw error;
      others.refused++;
    }
    progress(latencies.length + others.converted + others.refused, count);
  });
  const ms = clock.monotonicMs() - begin;
  return {
    count,
    ms,
    perSecond: perSecond(count - others.refused, ms),
    latencyMs: percentilesOf(latencies),
    ...others,
  };
}

/**
 * The values that 50, 95 and 99 in a hundred do not exceed.
 * @returns null of none.
 */
export function percentilesOf(values: readonly number[]): OperationsMeasured['latencyMs'] {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number) => sorted[Math.ceil(part * sorted.length) - 1] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
