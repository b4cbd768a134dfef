/**
 * The circuit breaker of one route, as immutable values.
 *
 * ```
 *              failures / calls ≥ failureRate,
 *              of at least callsMin calls within windowMs
 *   ┌────────┐ ────────────────────────────────▶ ┌──────┐
 *   │ closed │                                   │ open │ rejects all calls
 *   └────────┘                                   └──────┘
 *       ▲                                          │  ▲
 *       │               openMs have passed         │  │ one probe failed
 *       │                                          ▼  │
 *       │  all of `probes` calls succeeded    ┌───────────┐
 *       └──────────────────────────────────── │ half-open │ admits `probes` calls
 *                                             └───────────┘
 * ```
 * Each change begins a new `epoch`. Results of calls from an earlier one are ignored: a call that hung through an outage
 * must not open a circuit that has just closed.
 */
export type Circuit =
  | { readonly kind: 'closed'; readonly epoch: number; readonly window: readonly WindowPart[] }
  | { readonly kind: 'open'; readonly epoch: number; readonly untilMs: number }
  | {
      readonly kind: 'half-open';
      readonly epoch: number;
      /** Number of admitted calls that have not ended. */
      readonly probing: number;
      /** Number of calls that succeeded. */
      readonly passed: number;
    };

/** The calls of a part of the window. */
interface WindowPart {
  /** Number of the part, counted from time 0. */
  readonly part: number;
  readonly calls: number;
  readonly failures: number;
}

/** The conditions under which a circuit opens and closes. */
export interface CircuitLimits {
  /** Share of failed calls that opens the circuit, above 0 and at most 1. */
  readonly failureRate: number;
  /** Age at which ended calls are dropped. */
  readonly windowMs: number;
  /** Minimum number of calls in the window to open the circuit. */
  readonly callsMin: number;
  /** Time for which the circuit stays open. */
  readonly openMs: number;
  /** Number of calls that must succeed to close the circuit. */
  readonly probes: number;
}

/**
 * The window moves in tenths of its length, so memory and time of a report do not depend on the number of calls. Dropped
 * calls are between 90 and 100 % of the window old.
 */
export const WINDOW_PARTS = 10;

/** The circuit before the first call. */
export const NEW_CIRCUIT: Circuit = Object.freeze({ kind: 'closed', epoch: 0, window: Object.freeze([]) });

/**
 * Returns the circuit at a time: an open one becomes half open.
 * @param nowMs - on a monotonic clock.
 */
export function circuitAt(circuit: Circuit, nowMs: number): Circuit {
  if (circuit.kind !== 'open' || nowMs < circuit.untilMs) return circuit;
  return { kind: 'half-open', epoch: circuit.epoch + 1, probing: 0, passed: 0 };
}

/** Admits a call. Returns the circuit with that call, or undefined if the circuit rejects it. */
export function letThrough(circuit: Circuit, { probes }: CircuitLimits): Circuit | undefined {
  if (circuit.kind === 'closed') return circuit;
  if (circuit.kind === 'open' || circuit.probing + circuit.passed >= probes) return undefined;
  return { ...circuit, probing: circuit.probing + 1 };
}

/**
 * Removes an admitted call without a result, so that another one may probe instead.
 * @param epoch - of the circuit that admitted the call.
 */
export function takeBack(circuit: Circuit, epoch: number): Circuit {
  if (circuit.kind !== 'half-open' || circuit.epoch !== epoch) return circuit;
  return { ...circuit, probing: circuit.probing - 1 };
}

/**
 * Counts the end of an admitted call.
 * @param call - the epoch of its admission, its result and the time of its end.
 */
export function reportCall(
  circuit: Circuit,
  limits: CircuitLimits,
  { epoch, failed, nowMs }: { readonly epoch: number; readonly failed: boolean; readonly nowMs: number },
): Circuit {
  if (circuit.epoch !== epoch || circuit.kind === 'open') return circuit;
  const opened = (): Circuit => ({ kind: 'open', epoch: epoch + 1, untilMs: nowMs + limits.openMs });
  if (circuit.kind === 'closed') {
    const window = counted(circuit.window, limits, failed, nowMs);
    return isTooMuch(window, limits) ? opened() : { ...circuit, window };
  }
  if (failed) return opened();
  const passed = circuit.passed + 1;
  if (passed >= limits.probes) return { kind: 'closed', epoch: epoch + 1, window: [] };
  return { ...circuit, probing: circuit.probing - 1, passed };
}

/** Adds a call to the window and drops its old parts. */
function counted(
  window: readonly WindowPart[],
  { windowMs }: CircuitLimits,
  failed: boolean,
  nowMs: number,
): readonly WindowPart[] {
  const part = Math.floor((nowMs * WINDOW_PARTS) / windowMs);
  const kept = window.filter((each) => each.part > part - WINDOW_PARTS);
  const last = kept.at(-1)?.part === part ? kept.pop() : undefined;
  kept.push({
    part,
    calls: (last?.calls ?? 0) + 1,
    failures: (last?.failures ?? 0) + (failed ? 1 : 0),
  });
  return kept;
}

function isTooMuch(window: readonly WindowPart[], { failureRate, callsMin }: CircuitLimits): boolean {
  let calls = 0;
  let failures = 0;
  for (const part of window) {
    calls += part.calls;
    failures += part.failures;
  }
  // A division, because 7 / 25 is exactly the floating-point 0.28, but 0.28 * 25 is more than 7.
  return calls >= callsMin && failures / calls >= failureRate;
}
