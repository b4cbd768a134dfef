import { fitOutcome } from '../fit-outcome.js';
import type { Backing } from '../model.js';
import { type OkOutcome, Outcome } from '../outcome.js';

/**
 * The outcome of work that another part did: what it gave, or where that is when it is too large to be kept with the operation.
 * @param bytesMax - most bytes of the data as JSON.
 */
export function outcomeOrReference(data: unknown, backing: Backing, bytesMax: number): OkOutcome {
  const fitted = fitOutcome(Outcome.ok(data), bytesMax);
  return fitted.type === 'Ok' ? fitted : referenceOutcome(backing);
}

/** The outcome of work whose results only the part that did it can keep. */
export const referenceOutcome = ({ kind, ref }: Backing): OkOutcome =>
  Outcome.ok({ reference: { kind, ref } });
