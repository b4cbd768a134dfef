/** What one job of our own groups does; the same at every try and in every process. */
export interface Payment {
  readonly ms: number;
  readonly cents: number;
  /** Refused for good. */
  readonly refused: boolean;
  /** The bank does not answer the first try. */
  readonly failsFirst: boolean;
}

/** What a group comes to. */
export interface Sums {
  readonly success: number;
  readonly failed: number;
  readonly cents: number;
}

/**
 * The payment of a place in a group.
 * @param n - from 0.
 */
export const paymentOf = (n: number): Payment => ({
  ms: 5 + ((n * 7) % 60),
  cents: 1 + (n % 11),
  refused: n % 10 === 7,
  failsFirst: n % 13 === 5,
});

/** What payments come to, each of them once. */
export function sumsOf(places: Iterable<number>): Sums {
  let [success, failed, cents] = [0, 0, 0];
  for (const n of places) {
    const payment = paymentOf(n);
    if (payment.refused) failed++;
    else {
      success++;
      cents += payment.cents;
    }
  }
  return { success, failed, cents };
}
