import { type Clock, toWorkError } from '@millrace/foundation';
import { type ClockOffset, clockOffset } from '../rules/clocks.js';

/** How long a server may take to say whether it is ready: it gives itself a second. */
export const REACH_MS = 3_000;
/** `Date` has no parts of seconds. */
const DATE_COARSE_MS = 1_000;

/** A server, as whoever knocks sees it. */
export type Reached =
  | { readonly kind: 'silent'; readonly reason: string }
  /** Something answers that is no server of ours. */
  | { readonly kind: 'stranger'; readonly status: number }
  | {
      readonly kind: 'server';
      readonly ok: boolean;
      readonly checks: readonly ReadinessCheck[];
      /** undefined: it did not say what time it is. */
      readonly clock: ClockOffset | undefined;
    };

/** One check of its readiness. */
interface ReadinessCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string | null;
}

/** Where to knock. */
export interface ReachOptions {
  readonly url: string;
  /** With one it says what is wrong, too. */
  readonly apiKey: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Asks a server whether it is ready.
 * @throws the signal's reason.
 */
export async function reach({ url, apiKey, clock, signal }: ReachOptions): Promise<Reached> {
  const askedAt = clock.now();
  try {
    const response = await fetch(`${url}/health/ready`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REACH_MS)]),
    });
    const answeredAt = clock.now();
    const body: unknown = await response.json().catch(() => undefined);
    if (!isReadiness(body)) return { kind: 'stranger', status: response.status };
    const told = Date.parse(response.headers.get('date') ?? '');
    const look = { of: 'the server', askedAt, answeredAt, told, coarseMs: DATE_COARSE_MS };
    return { kind: 'server', ...body, clock: Number.isNaN(told) ? undefined : clockOffset(look) };
  } catch (error) {
    signal.throwIfAborted();
    const { cause } = error as Error;
    return { kind: 'silent', reason: toWorkError(cause ?? error).message || 'it did not answer' };
  }
}

function isReadiness(body: unknown): body is { ok: boolean; checks: readonly ReadinessCheck[] } {
  const { ok, checks } = (body ?? {}) as { readonly ok?: unknown; readonly checks?: unknown };
  return typeof ok === 'boolean' && Array.isArray(checks);
}
