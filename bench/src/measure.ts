/** One contender: `sample` does the work once and answers what it cost (smaller is better, same unit on both sides). */
export interface Side {
  readonly name: string;
  /** Of a peer: the least ratio against it and the aim, where they differ from the row's. */
  readonly bar?: number;
  readonly aim?: number;
  sample(): Promise<number>;
}

/** How a contender is named in a row, and which bar it sets there. */
export type SideOptions = Partial<Pick<Side, 'name' | 'bar' | 'aim'>>;

/** Before the clock runs: nobody pays for another one's garbage. Node tells how only with `--expose-gc`. */
export const collectGarbage = (): void => (globalThis as { gc?: () => void }).gc?.();

/** What a comparison of two sides came to. */
export interface Comparison {
  readonly peer: string;
  readonly pairs: number;
  /** Median cost of one operation, ours and the peer's. */
  readonly oursCost: number;
  readonly peerCost: number;
  /** Median over the pairs of peer cost / our cost: above 1 we are faster. */
  readonly ratio: number;
  /** Half the distance between the quartiles of the ratio, relative to the median. */
  readonly spread: number;
}

/** The value at share `q` of the sorted sample. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const low = sorted[Math.floor(position)] ?? Number.NaN;
  const high = sorted[Math.ceil(position)] ?? Number.NaN;
  return low + (high - low) * (position - Math.floor(position));
}

/**
 * Compares two sides in alternating pairs: ours first in one pair, the peer first in the next, so that whatever
 * drifts on the machine hits both alike. The ratio is taken within each pair and its median is the answer.
 */
export async function compare(ours: Side, peer: Side, pairs: number, warmUps: number): Promise<Comparison> {
  for (let turn = 0; turn < warmUps; turn++) {
    await ours.sample();
    await peer.sample();
  }
  const oursCosts: number[] = [];
  const peerCosts: number[] = [];
  const ratios: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    const oursFirst = pair % 2 === 0;
    const first = await settled(oursFirst ? ours : peer);
    const second = await settled(oursFirst ? peer : ours);
    const [our, theirs] = oursFirst ? [first, second] : [second, first];
    oursCosts.push(our);
    peerCosts.push(theirs);
    ratios.push(theirs / our);
  }
  const ratio = quantile(ratios, 0.5);
  return {
    peer: peer.name,
    pairs,
    oursCost: quantile(oursCosts, 0.5),
    peerCost: quantile(peerCosts, 0.5),
    ratio,
    spread: (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 2 / ratio,
  };
}

/** A sample that does not pay for the garbage of the one before. */
async function settled(side: Side): Promise<number> {
  collectGarbage();
  return side.sample();
}

/** A side that runs `batch(count)` and answers nanoseconds per operation. */
export function perOperation(name: string, count: number, batch: (count: number) => Promise<unknown>): Side {
  return {
    name,
    async sample() {
      const startedAt = process.hrtime.bigint();
      await batch(count);
      return Number(process.hrtime.bigint() - startedAt) / count;
    },
  };
}
