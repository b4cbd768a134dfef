/**
 * The circuit breaker of one route, as values: who asks and who reports is elsewhere.
 *
 * ```
 *              failures / calls ≥ failureRate,
 *              of at least callsMin calls within windowMs
 *   ┌────────┐ ────────────────────────────────▶ ┌──────┐
 *   │ closed │                                   │ open │ lets nothing through
 *   └────────┘                                   └──────┘
 *       ▲                                          │  ▲
 *       │               openMs have passed         │  │ one of them failed
 *       │                                          ▼  │
 *       │  all of `probes` calls went well    ┌───────────┐
 *       └──────────────────────────────────── │ half-open │ lets `probes` calls through
 *                                             └───────────┘
 * ```
 * Every change begins a new `epoch`. What was let through in an earlier one says nothing of the present, so its result is
 * ignored: a call that hung through an outage must not open a circuit that has just closed.
 */
export type Circuit =
  | { readonly kind: 'closed'; readonly epoch: number; readonly window: readonly WindowPart[] }
  | { readonly kind: 'open'; readonly epoch: number; readonly untilMs: number }
  | {
      readonly kind: 'half-open';
      readonly epoch: number;
      /** Calls that were let through and have not ended. */
      readonly probing: number;
      /** Calls that went well. */
      readonly passed: number;
    };

/** The calls of a part of the window. */
interface WindowPart {
  /** The number of the part since time began. */
  readonly part: number;
  readonly calls: number;
  readonly failures: number;
}

/** When a circuit opens and closes. */
export interface CircuitLimits {
  /** Share of failed calls that opens it, above 0 and at most 1. */
  readonly failureRate: number;
  /** Calls that ended longer ago are forgotten. */
  readonly windowMs: number;
  /** With fewer calls in the window it does not open. */
  readonly callsMin: number;
  /** How long it stays open. */
  readonly openMs: number;
  /** How many calls have to go well until it closes again. */
  readonly probes: number;
}

/**
 * The window moves in tenths of its length: memory and time of a report do not depend on the number of calls, and what
 * is forgotten is between 90 and 100 % of the window old.
 */
export const WINDOW_PARTS = 10;

/** A circuit that has seen nothing. */
export const NEW_CIRCUIT: Circuit = Object.freeze({ kind: 'closed', epoch: 0, window: Object.freeze([]) });

/**
 * What time has made of a circuit.
 * @param nowMs - the present, on a clock that never goes back.
 */
export function circuitAt(circuit: Circuit, nowMs: number): Circuit {
  if (circuit.kind !== 'open' || nowMs < circuit.untilMs) return circuit;
  return { kind: 'half-open', epoch: circuit.epoch + 1, probing: 0, passed: 0 };
}

/**
 * Lets a call through, if the circuit does.
 * @returns the circuit with that call; undefined when it lets none through.
 */
export function letThrough(circuit: Circuit, { probes }: CircuitLimits): Circuit | undefined {
  if (circuit.kind === 'closed') return circuit;
  if (circuit.kind === 'open' || circuit.probing + circuit.passed >= probes) return undefined;
  return { ...circuit, probing: circuit.probing + 1 };
}

/**
 * Takes a call back that was let through and has shown nothing: another may probe instead.
 * @param epoch - when the call was let through.
 */
export function takeBack(circuit: Circuit, epoch: number): Circuit {
  if (circuit.kind !== 'half-open' || circuit.epoch !== epoch) return circuit;
  return { ...circuit, probing: circuit.probing - 1 };
}

/**
 * What a call that was let through makes of the circuit.
 * @param call - when it was let through, how it ended, and when.
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

/** The window with one call more, without the parts that have left it. */
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
  // Divided, not multiplied: 3 of 30 is exactly the number that 0.1 is read as.
  return calls >= callsMin && failures / calls >= failureRate;
}
