/** What a campaign is started with. */
export interface Campaign {
  readonly customers: number;
}

/** The kinds of customers, each mailed by a step of its own. */
export const SEGMENTS: readonly string[] = ['gold', 'silver', 'new'];

/** Who is in a segment. In an application of your own: a query. */
export const audienceOf = (segment: string, customers: number): number[] =>
  Array.from({ length: customers }, (_, n) => n).filter(
    (n) => n % SEGMENTS.length === SEGMENTS.indexOf(segment),
  );
