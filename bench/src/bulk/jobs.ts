/** How much is handed in: so many jobs, spread evenly over so many groups. */
export interface Load {
  readonly jobs: number;
  readonly groups: number;
}

const TEXT = 'x'.repeat(54);

/** 16 characters; not a number, which BullMQ refuses as an id. */
export const jobId = (index: number): string => `job-${String(index).padStart(12, '0')}`;

/** 100 bytes of JSON. */
export const payloadOf = (index: number): { readonly to: string; readonly text: string } => ({
  to: `user-${String(index).padStart(10, '0')}@example.org`,
  text: TEXT,
});

/**
 * Hands `total` things in, `size` at a time, with so many calls under way.
 * @param send - takes the index of the first and how many.
 */
export async function inBatches(
  { total, size, underWay }: { readonly total: number; readonly size: number; readonly underWay: number },
  send: (from: number, count: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const sender = async () => {
    while (next < total) {
      const from = next;
      next += size;
      await send(from, Math.min(size, total - from));
    }
  };
  await Promise.all(Array.from({ length: underWay }, sender));
}

/** `count` values, made from the indexes `from`, `from + 1` … */
export const sequence = <T>(from: number, count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, offset) => make(from + offset));
