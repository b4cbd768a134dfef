/**
 * Does numbered pieces of work, so many at once, in order. The first failure ends it; what has begun is waited for.
 * @param atOnce - how many at once.
 * @param work - does one; 0 is the first.
 * @throws what the first piece that failed has thrown.
 */
export async function allAtOnce(
  count: number,
  atOnce: number,
  work: (n: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const loop = async () => {
    while (next < count) {
      try {
        await work(next++);
      } catch (error) {
        next = count;
        throw error;
      }
    }
  };
  const loops = await Promise.allSettled(Array.from({ length: Math.min(atOnce, count) }, loop));
  const failed = loops.find((loop) => loop.status === 'rejected');
  if (failed) throw failed.reason;
}
