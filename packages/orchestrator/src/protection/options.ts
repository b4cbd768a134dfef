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

/** The fate of a command that its route refuses. `keep` runs it later, `reject` answers with an error. */
export type OnRefused = 'keep' | 'reject';

/** Protection of the calls of one route, in this instance. Each part is off unless it is set. */
export interface ProtectionOptions {
  /** Longest time from admission to the end, including the wait for a slot (none). After it the outcome is `TIMEOUT`. */
  readonly timeoutMs?: number | undefined;
  /** Refuses calls with `CB_OPEN` for a while after too many failures (off). `{}` takes the defaults. */
  readonly circuitBreaker?: CircuitBreakerOptions | undefined;
  /** Limits the number of calls that run at the same time (off). Refuses the others with `BULKHEAD_FULL`. */
  readonly bulkhead?: BulkheadOptions | undefined;
  /** Limits the number of calls that begin per second (off). Refuses the others with `RATE_LIMIT`. */
  readonly rateLimit?: RateLimitOptions | undefined;
  /** Starts a slow call a second time and takes the first result (off). Requires `idempotent: true` on the route. */
  readonly hedge?: HedgeOptions | undefined;
  /** The fate of a refused command (`'keep'`). */
  readonly onRefused?: OnRefused | undefined;
}

/** The conditions under which a circuit opens and closes. */
export interface CircuitBreakerOptions {
  /** Share of failed calls that opens the circuit, above 0 and at most 1 (0.5). */
  readonly failureRate?: number | undefined;
  /** Age at which ended calls are dropped (10000). */
  readonly windowMs?: number | undefined;
  /** Minimum number of calls in the window to open the circuit (10). */
  readonly callsMin?: number | undefined;
  /** Time for which the circuit stays open (5000). */
  readonly openMs?: number | undefined;
  /** Number of calls that are admitted to a half-open circuit and must succeed to close it (1). */
  readonly probes?: number | undefined;
}

/** Limits of a bulkhead. */
export interface BulkheadOptions {
  /** Maximum number of calls that run at the same time. */
  readonly concurrency: number;
  /** Maximum number of calls that wait for a slot, first come first served (0). */
  readonly queueMax?: number | undefined;
}

/** Limits of a rate. */
export interface RateLimitOptions {
  /** Maximum number of calls that begin per second. */
  readonly rps: number;
  /** Maximum number of calls that begin at the same time after a pause (a tenth of `rps`, at least 1). */
  readonly burst?: number | undefined;
}

/** Delay and number of hedges. */
export interface HedgeOptions {
  /** Time without a result after which a hedge starts, and the next one after the same time. */
  readonly delayMs: number;
  /** Maximum number of hedges (1). They run in the slot and with the token of their call. */
  readonly hedgesMax?: number | undefined;
}

/** The complete options. A missing part is off. */
export interface ResolvedProtectionOptions {
  readonly timeoutMs?: number;
  readonly circuitBreaker?: CircuitLimits;
  readonly bulkhead?: { readonly concurrency: number; readonly queueMax: number };
  readonly rateLimit?: { readonly rps: number; readonly burst: number };
  readonly hedge?: { readonly delayMs: number; readonly hedgesMax: number };
  readonly onRefused: OnRefused;
}

/** Defaults of the parts that are set. `rateLimit.burst` follows from `rps`. */
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

/** A rate below one start per day is a route to switch off. */
const rps = numberOption({ min: 1 / 86_400, max: 1_000_000 });

/** Rule and defaults of each part. An `undefined` default means that the key is required. */
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
 * Validates the options of a protection, completes and freezes them.
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

/** A part has rules and defaults only if it is set. Defaults alone would switch it on. */
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
    expected: 'left out unless the route sets idempotent: true (a hedge runs the work a second time)',
    holds: ({ hedge }) => hedge === undefined || idempotent === true,
  },
  {
    option: 'hedge',
    expected: 'with a delayMs below timeoutMs, or it never begins',
    holds: ({ hedge, timeoutMs }) =>
      hedge === undefined || timeoutMs === undefined || hedge.delayMs < timeoutMs,
  },
];
