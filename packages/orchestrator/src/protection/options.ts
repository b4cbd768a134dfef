import {
  defaultBurst,
  durationOption,
  integerOption,
  numberOption,
  type OptionConstraint,
  type OptionRule,
  type OptionSpec,
  objectOption,
  oneOfOption,
  type PartialOptions,
  resolveOptions,
  sectionOption,
} from '@millrace/foundation';
import { type CircuitLimits, WINDOW_PARTS } from '../rules/circuit-breaker.js';

/** What becomes of a command that a protection does not let through: kept and tried later, or not taken at all. */
export type OnRefused = 'keep' | 'reject';

/** How the calls of one route are protected, in this instance; nothing of it is on unless given. */
export interface ProtectionOptions {
  /** Longest time from admission to the end, waiting for a slot included: `TIMEOUT`. */
  readonly timeoutMs?: number | undefined;
  /** Stops calling for a while when too many calls fail: `CB_OPEN`. `{}` takes the defaults. */
  readonly circuitBreaker?: CircuitBreakerOptions | undefined;
  /** Bounds how many calls run at once: `BULKHEAD_FULL`. */
  readonly bulkhead?: BulkheadOptions | undefined;
  /** Bounds how many calls begin in a time: `RATE_LIMIT`. */
  readonly rateLimit?: RateLimitOptions | undefined;
  /** Begins a slow call a second time; the first answer counts. Only for routes that are `idempotent: true`. */
  readonly hedge?: HedgeOptions | undefined;
  /** What becomes of a command that is not let through ('keep'). */
  readonly onRefused?: OnRefused | undefined;
}

/** When a circuit opens and closes. */
export interface CircuitBreakerOptions {
  /** Share of failed calls that opens it, above 0 and at most 1 (0.5). */
  readonly failureRate?: number | undefined;
  /** Calls that ended longer ago are forgotten (10000). */
  readonly windowMs?: number | undefined;
  /** With fewer calls in the window it does not open (10). */
  readonly callsMin?: number | undefined;
  /** How long it stays open (5000). */
  readonly openMs?: number | undefined;
  /** How many calls have to go well until it closes again; no more are let through meanwhile (1). */
  readonly probes?: number | undefined;
}

/** How many calls may run at once. */
export interface BulkheadOptions {
  /** Calls that may run at once. */
  readonly concurrency: number;
  /** How many more may wait for a slot, first come first served (0). */
  readonly queueMax?: number | undefined;
}

/** How many calls may begin. */
export interface RateLimitOptions {
  /** Per second. */
  readonly rps: number;
  /** How many may begin at once after a quiet time; what a tenth of a second allows unless given, at least 1. */
  readonly burst?: number | undefined;
}

/** When a slow call is begun again. */
export interface HedgeOptions {
  /** After so long without an answer; again after as long. */
  readonly delayMs: number;
  /** How many more tries than the first (1). They run in the slot and with the token of their call. */
  readonly hedgesMax?: number | undefined;
}

/** The options with every default filled in; what was not given is off. */
export interface ResolvedProtectionOptions {
  readonly timeoutMs?: number;
  readonly circuitBreaker?: CircuitLimits;
  readonly bulkhead?: { readonly concurrency: number; readonly queueMax: number };
  readonly rateLimit?: { readonly rps: number; readonly burst: number };
  readonly hedge?: { readonly delayMs: number; readonly hedgesMax: number };
  readonly onRefused: OnRefused;
}

/** The defaults, of a group once it is given; `rateLimit.burst` follows from `rps`. */
export const PROTECTION_DEFAULTS = {
  circuitBreaker: { failureRate: 0.5, windowMs: 10_000, callsMin: 10, openMs: 5_000, probes: 1 },
  bulkhead: { queueMax: 0 },
  hedge: { hedgesMax: 1 },
  onRefused: 'keep',
} as const;

const DAY_MS = 86_400_000;
const duration = durationOption({ min: 1, max: DAY_MS });

const failureRate: OptionRule = {
  expected: 'a number above 0 and at most 1, the share of calls that failed',
  accepts: (value) => Number.isFinite(value) && (value as number) > 0 && (value as number) <= 1,
};

/** A rate below one start in a day is rather a route to switch off. */
const rps = numberOption({ min: 1 / 86_400, max: 1_000_000 });

/** What is known of each group; an `undefined` default means that the key has none and must be given. */
const GROUPS = {
  circuitBreaker: {
    rule: sectionOption<CircuitLimits>({
      failureRate,
      windowMs: durationOption({ min: WINDOW_PARTS, max: DAY_MS }),
      callsMin: integerOption({ min: 1, max: 1_000_000 }),
      openMs: duration,
      probes: integerOption({ min: 1, max: 1_000 }),
    }),
    defaults: () => PROTECTION_DEFAULTS.circuitBreaker,
  },
  bulkhead: {
    rule: sectionOption<Required<BulkheadOptions>>({
      concurrency: integerOption({ min: 1, max: 100_000 }),
      queueMax: integerOption({ min: 0, max: 1_000_000 }),
    }),
    defaults: () => ({ concurrency: undefined, ...PROTECTION_DEFAULTS.bulkhead }),
  },
  rateLimit: {
    rule: sectionOption<Required<RateLimitOptions>>({
      rps,
      burst: integerOption({ min: 1, max: 1_000_000 }),
    }),
    defaults: (given: Partial<RateLimitOptions>) => ({
      rps: undefined,
      burst: rps.accepts(given.rps) ? defaultBurst(given.rps as number) : 1,
    }),
  },
  hedge: {
    rule: sectionOption<Required<HedgeOptions>>({
      delayMs: duration,
      hedgesMax: integerOption({ min: 1, max: 10 }),
    }),
    defaults: () => ({ delayMs: undefined, ...PROTECTION_DEFAULTS.hedge }),
  },
};

/**
 * Completes the options of a protection.
 * @param route - whether its work may be run again without harm.
 * @returns the resolved options, frozen.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function resolveProtectionOptions(
  owner: string,
  given: ProtectionOptions | undefined,
  { idempotent }: { readonly idempotent: boolean },
): ResolvedProtectionOptions {
  return resolveOptions<ResolvedProtectionOptions>(
    { owner, ...groupSpecs(given), relations: relationsOf(idempotent) },
    given as PartialOptions<ResolvedProtectionOptions>,
  );
}

/** A group is looked into, and has defaults, only when it is given: else it would be on. */
function groupSpecs(
  given: ProtectionOptions | undefined,
): Pick<OptionSpec<ResolvedProtectionOptions>, 'defaults' | 'rules'> {
  const defaults: Record<string, unknown> = { onRefused: PROTECTION_DEFAULTS.onRefused };
  const ruleOf = (name: keyof typeof GROUPS): OptionRule => {
    const group = given?.[name] as Partial<RateLimitOptions> | null | undefined;
    if (typeof group !== 'object' || group === null) return objectOption('an object');
    defaults[name] = GROUPS[name].defaults(group);
    return GROUPS[name].rule;
  };
  const rules = {
    timeoutMs: duration,
    circuitBreaker: ruleOf('circuitBreaker'),
    bulkhead: ruleOf('bulkhead'),
    rateLimit: ruleOf('rateLimit'),
    hedge: ruleOf('hedge'),
    onRefused: oneOfOption('keep', 'reject'),
  };
  return { defaults, rules };
}

const relationsOf = (idempotent: boolean): readonly OptionConstraint<ResolvedProtectionOptions>[] => [
  {
    option: 'hedge',
    expected: 'left out unless the route says idempotent: true (a hedge runs the work a second time)',
    holds: ({ hedge }) => hedge === undefined || idempotent === true,
  },
  {
    option: 'hedge',
    expected: 'with a delayMs below timeoutMs, or it never begins',
    holds: ({ hedge, timeoutMs }) =>
      hedge === undefined || timeoutMs === undefined || hedge.delayMs < timeoutMs,
  },
];
