/** Whole numbers that are divided among shards; 0 = off. */
interface Divided {
  readonly shards: number;
  readonly limits: { readonly queuedJobsMax: number };
  readonly backpressure: { readonly burst?: number | undefined; readonly readyQueueMaxSize: number };
  readonly resources: Readonly<Record<string, { readonly concurrency?: number | undefined }>>;
}

/**
 * Whether every shard gets something of each whole number: with nothing, its tenants would never be served.
 * @param config - of the whole engine.
 */
export function isDivisible({ shards, limits, backpressure, resources }: Divided): boolean {
  const { queuedJobsMax } = limits;
  const { burst = shards, readyQueueMaxSize } = backpressure;
  const most = [queuedJobsMax === 0 ? shards : queuedJobsMax, burst, readyQueueMaxSize];
  for (const { concurrency = shards } of Object.values(resources)) most.push(concurrency);
  return most.every((number) => number >= shards);
}
