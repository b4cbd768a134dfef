/** How fast easy work went that nothing but the processes held back. */
interface Speed {
  /** While all slots were taken. */
  readonly perSecond: number;
}

/** How fast it was before the faults, and each time it was looked at afterwards. */
export interface Recovery<P extends Speed> {
  /** The first one was before. */
  readonly probes: readonly P[];
  /** Of what it was before, when it was looked at last. */
  readonly share: number;
  /** Since the last fault. */
  readonly tookMs: number;
}

/** I10: of the throughput before the faults, what must be back. */
export const LEAST_SHARE = 0.9;
const RECOVERS_WITHIN_MS = 30_000;

/**
 * Measures again and again until the processes are as fast as before, or the time to recover is over.
 * @param probe - measures now; what it is given no other probe has.
 */
export async function measureRecovery<P extends Speed>(
  before: P,
  probe: (name: string) => Promise<P>,
): Promise<Recovery<P>> {
  const quietSince = performance.now();
  const probes = [before];
  for (;;) {
    const now = await probe(`after${probes.length}`);
    probes.push(now);
    const share = now.perSecond / before.perSecond;
    const tookMs = performance.now() - quietSince;
    if (share >= LEAST_SHARE || tookMs > RECOVERS_WITHIN_MS) return { probes, share, tookMs };
  }
}

/**
 * How many ended in a second, without the first and the last tenth, where work comes in and runs out.
 * @param ends - when each of them ended, in order, in ms.
 */
export function speedOf(ends: readonly number[]): number {
  const [from, to] = [Math.floor(ends.length * 0.1), Math.floor(ends.length * 0.9)];
  return ((to - from) * 1000) / Math.max(1, (ends[to] ?? 0) - (ends[from] ?? 0));
}
