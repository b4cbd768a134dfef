import type { Rng } from '@millrace/foundation';
import type { Command } from './commands.js';

type Kind = Command['kind'];
type Weights = Readonly<Partial<Record<Kind, number>>>;

/** How often each kind is drawn. */
const WEIGHTS: Weights = {
  ...{ create: 2, add: 10, seal: 2.5, cancel: 0.8, pause: 1.5, resume: 2.5, update: 3, updateTenant: 2 },
  ...{ fetch: 12, dispatch: 6, sweep: 3, admit: 6, checkRate: 2, reserve: 14, renew: 3, giveBack: 3 },
  ...{ settle: 16, giveBackAll: 1.5, recover: 4, redrive: 3, purge: 1.2, heartbeat: 3, leave: 0.5 },
  ...{
    instances: 1,
    begin: 2,
    renewOnce: 1,
    finish: 1,
    release: 0.7,
    group: 4,
    result: 2,
    job: 4,
    explain: 4,
  },
  ...{
    tenant: 2,
    fairness: 1,
    queues: 2,
    resources: 1,
    slowness: 1,
    forgetSlowness: 0.7,
    signatures: 1,
    groups: 1,
    jobs: 1,
    'dead letters': 1,
  },
  ...{ watch: 3, reconcile: 1.5 },
  ...{ claim: 6, claimGroup: 2, renewAggregation: 2, finishAggregation: 3, failAggregation: 3, results: 2 },
  ...{ 'first page': 1, 'other pages': 1, advance: 12 },
};

/** Every kind is rare in some sequences and frequent in others: what they meet together is then not always the same. */
const FACTORS = [0.2, 1, 1, 1, 3];

const GRIM: Weights = { seal: 3, cancel: 3, redrive: 3, settle: 3, group: 3, result: 3, job: 3 };
const CARELESS: Weights = { settle: 0.2, giveBack: 0.3, add: 0.4, dispatch: 2, recover: 5 };
const STUBBORN: Weights = { settle: 2, add: 0.1, seal: 0.3, cancel: 0.1, dispatch: 5, advance: 2, job: 2 };

const SPITEFUL: Weights = {
  claim: 5,
  failAggregation: 8,
  finishAggregation: 0.1,
  seal: 3,
  settle: 3,
  cancel: 0.3,
  result: 6,
};

const PICKY: Weights = {
  settle: 2,
  reserve: 2,
  advance: 0.3,
  seal: 0.2,
  cancel: 0.1,
  slowness: 6,
  heartbeat: 3,
};

/** Workers take turns themselves, and nothing much is changed. */
const PLAIN: Weights = {
  ...{ fetch: 0.05, admit: 0.05, checkRate: 0.2, update: 0.1, updateTenant: 0.1, create: 0.3, pause: 0.3 },
  ...{ reserve: 3, settle: 3, seal: 0.5, cancel: 0.3, heartbeat: 2, giveBack: 0.5, recover: 0.3 },
};

/** What kind of thing mostly happens in a sequence. */
export class Mood {
  /** Many jobs die, and many groups end. */
  readonly isGrim: boolean;
  /** Many workers die. */
  readonly isCareless: boolean;
  /** A few jobs are tried again and again. */
  readonly isStubborn: boolean;
  /** The called service refuses one customer only. */
  readonly isPicky: boolean;
  /** Results can hardly be added up. */
  readonly isSpiteful: boolean;
  readonly #ends: readonly (readonly [Kind, number])[];
  readonly #sum: number;

  constructor(rng: Rng, isPlain: boolean) {
    const mayBe = (probability: number) => rng.chance(probability) && !isPlain;
    this.isGrim = mayBe(0.4);
    this.isCareless = mayBe(0.3);
    this.isStubborn = mayBe(0.15);
    this.isSpiteful = mayBe(0.15);
    this.isPicky = mayBe(0.3);
    const moods: readonly Weights[] = [
      this.isGrim ? GRIM : {},
      this.isCareless ? CARELESS : {},
      this.isStubborn ? STUBBORN : {},
      this.isSpiteful ? SPITEFUL : {},
      this.isPicky ? PICKY : {},
      isPlain ? PLAIN : {},
    ];
    let sum = 0;
    this.#ends = Object.entries(WEIGHTS).map(([name, weight]) => {
      const kind = name as Kind;
      const factor = moods.reduce((product, mood) => product * (mood[kind] ?? 1), 1);
      sum += weight * rng.pick(FACTORS) * factor;
      return [kind, sum];
    });
    this.#sum = sum;
  }

  /** One of the kinds. */
  draw(rng: Rng): Kind {
    const at = rng.next() * this.#sum;
    return this.#ends.find(([, end]) => at < end)?.[0] ?? 'queues';
  }
}
