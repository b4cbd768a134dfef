import type { ResponseOf } from '@millrace/contract/server-client';
import type { Shares } from './facts.js';

type TenantShare = Pick<ResponseOf<'getFairness'>['tenants'][number], 'id' | 'served' | 'fairShare'>;

/** What a tenant got between two looks, or between many. */
interface Account {
  readonly got: number;
  readonly entitledTo: number;
  readonly ofAll: number;
}

/** How many times between two looks count as now: fewer jump, more lag behind. */
const RECENT = 5;

/**
 * Adds up what each tenant got against what it was entitled to, while it wanted something. What a server tells at one moment does not
 * say that: its share is of the last seconds, its fair share of now, so who has just come seems to be treated badly.
 */
export class ShareLedger {
  readonly #accounts = new Map<string, Account>();
  readonly #served = new Map<string, number>();
  /** The newest last. */
  #recent: readonly ReadonlyMap<string, Account>[] = [];
  #wanting: ReadonlyMap<string, number> = new Map();

  /**
   * Takes the next look at all tenants.
   * @param tenants - as `GET /api/bulk/fairness` tells them; those who want nothing may be missing.
   */
  add(tenants: readonly TenantShare[]): void {
    const wanting = new Map(
      tenants.filter(({ fairShare }) => fairShare > 0).map(({ id, fairShare }) => [id, fairShare]),
    );
    // What somebody seen for the first time got since the last look is not known, so neither is what all got.
    const isWhole = tenants.every(({ id }) => this.#served.has(id));
    const accounts = isWhole ? this.#since(tenants, wanting) : new Map<string, Account>();
    this.#recent = [...this.#recent, accounts].slice(-RECENT);
    for (const [id, account] of accounts) this.#accounts.set(id, sumOf([this.#accounts.get(id), account]));
    for (const { id, served } of tenants) this.#served.set(id, served);
    this.#wanting = wanting;
  }

  /**
   * What a tenant got so far.
   * @returns null for one that has not wanted anything from one look to the next.
   */
  of(id: string): Shares | null {
    return sharesOf(sumOf([this.#accounts.get(id)]));
  }

  /**
   * What a tenant got in the last looks.
   * @returns null for one that has wanted nothing then.
   */
  recent(id: string): Shares | null {
    return sharesOf(sumOf(this.#recent.map((accounts) => accounts.get(id))));
  }

  /** Of those who wanted something at both looks: the others could not have got more. */
  #since(
    tenants: readonly TenantShare[],
    wanting: ReadonlyMap<string, number>,
  ): ReadonlyMap<string, Account> {
    // A server that was started anew counts anew.
    const gains = tenants.map(
      ({ id, served }) => [id, Math.max(0, served - (this.#served.get(id) ?? 0))] as const,
    );
    const ofAll = gains.reduce((sum, [, gain]) => sum + gain, 0);
    const accounts = new Map<string, Account>();
    for (const [id, got] of gains) {
      const [before, after] = [this.#wanting.get(id), wanting.get(id)];
      if (before !== undefined && after !== undefined)
        accounts.set(id, { got, entitledTo: (ofAll * (before + after)) / 2, ofAll });
    }
    return accounts;
  }
}

function sumOf(accounts: readonly (Account | undefined)[]): Account {
  const sum = (of: (account: Account) => number) =>
    accounts.reduce((total, account) => total + (account ? of(account) : 0), 0);
  return {
    got: sum(({ got }) => got),
    entitledTo: sum(({ entitledTo }) => entitledTo),
    ofAll: sum(({ ofAll }) => ofAll),
  };
}

const sharesOf = ({ got, entitledTo, ofAll }: Account): Shares | null =>
  ofAll > 0 ? { share: got / ofAll, fairShare: entitledTo / ofAll } : null;
