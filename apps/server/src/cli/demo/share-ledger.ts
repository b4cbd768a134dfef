import type { AnswerOf } from '@millrace/contract/server-client';
import type { Shares } from './facts.js';

type TenantShare = Pick<AnswerOf<'getFairness'>['tenants'][number], 'id' | 'served' | 'fairShare'>;

interface Account {
  readonly got: number;
  readonly entitledTo: number;
  readonly ofAll: number;
}

const EMPTY: Account = { got: 0, entitledTo: 0, ofAll: 0 };

/**
 * Adds up what each tenant got against what it was entitled to, while it wanted something. What a server tells at one moment does not
 * say that: its share is of the last seconds, its fair share of now, so who has just come seems to be treated badly.
 */
export class ShareLedger {
  readonly #accounts = new Map<string, Account>();
  readonly #served = new Map<string, number>();
  #wanting: ReadonlyMap<string, number> = new Map();

  /**
   * Takes the next look at all tenants.
   * @param tenants - as `GET /api/bulk/fairness` tells them; those who want nothing may be missing.
   */
  add(tenants: readonly TenantShare[]): void {
    // What somebody seen for the first time got since the last look is not known, so neither is what all got.
    const isWhole = tenants.every(({ id }) => this.#served.has(id));
    const gains = tenants.map(({ id, served }) => ({
      id,
      gain: Math.max(0, served - (this.#served.get(id) ?? 0)),
    }));
    const all = gains.reduce((sum, { gain }) => sum + gain, 0);
    const wanting = new Map(
      tenants.filter(({ fairShare }) => fairShare > 0).map(({ id, fairShare }) => [id, fairShare]),
    );
    if (isWhole && all > 0)
      for (const { id, gain } of gains) {
        const before = this.#wanting.get(id);
        const after = wanting.get(id);
        if (before !== undefined && after !== undefined) this.#credit(id, gain, (before + after) / 2, all);
      }
    for (const { id, served } of tenants) this.#served.set(id, served);
    this.#wanting = wanting;
  }

  /**
   * What a tenant got so far.
   * @param id - of the tenant.
   * @returns null for one that has not wanted anything from one look to the next.
   */
  of(id: string): Shares | null {
    const account = this.#accounts.get(id);
    if (!account) return null;
    const { got, entitledTo, ofAll } = account;
    return { share: got / ofAll, fairShare: entitledTo / ofAll };
  }

  #credit(id: string, gain: number, fairShare: number, all: number): void {
    const { got, entitledTo, ofAll } = this.#accounts.get(id) ?? EMPTY;
    this.#accounts.set(id, {
      got: got + gain,
      entitledTo: entitledTo + fairShare * all,
      ofAll: ofAll + all,
    });
  }
}
