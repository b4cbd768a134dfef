/** What becomes of a mail, by its customer alone: the same at every try and in every process. */
export interface MailFate {
  readonly ms: number;
  /** The address does not exist: it fails for good. */
  readonly bounces: boolean;
  /** The mail service does not answer the first try. */
  readonly failsFirst: boolean;
  readonly cents: number;
}

/** What becomes of the mail to a customer. */
export const fateOf = (customer: number): MailFate => ({
  ms: 20 + ((customer * 7) % 100),
  bounces: customer % 10 === 7,
  failsFirst: customer % 13 === 5,
  cents: 1 + (customer % 7),
});

/** What a campaign comes to. */
export interface Totals {
  readonly mails: number;
  readonly sent: number;
  readonly bounced: number;
  readonly cents: number;
}

/**
 * What a campaign must come to, whatever happens on the way.
 * @param customers - how many it has.
 */
export function totalsOf(customers: number): Totals {
  const fates = Array.from({ length: customers }, (_, customer) => fateOf(customer));
  const sent = fates.filter(({ bounces }) => !bounces);
  return {
    mails: customers,
    sent: sent.length,
    bounced: customers - sent.length,
    cents: sent.reduce((sum, { cents }) => sum + cents, 0),
  };
}
