import type { MemoryState } from './state.js';

/** How a reserve has ended. */
interface Reserved {
  /** Workers of its instance that still wait. */
  readonly waiting: number;
  /** Jobs in ready that it could not start. */
  readonly aside: number;
  /** Whether it was allowed to take turns through the gate. */
  readonly tookTurns: boolean;
}

/**
 * Wakes those who can go on with what a reserve leaves.
 * @param state - of the store.
 * @param reserved - see Reserved.
 */
export function wakeOthers(state: MemoryState, { waiting, aside, tookTurns }: Reserved): void {
  // Those that turns rang for are taken already.
  state.unring('work');
  const mayTurn = state.mayTurn();
  const othersWait = state.slots().waiting > waiting;
  // While everybody works, whoever is free next takes the turn of one who was parked, once it has its token. A Fetcher that
  // was told of the parking would fill ready with the jobs of others, and those would start first.
  if (waiting > 0 || othersWait) state.tellOfParking();
  else if (tookTurns && state.unring('fetch')) state.parkingUntold = true;
  // Whoever takes turns and is satisfied takes the next ones too. Else a rate or a bound was in the way: the Fetcher waits for it.
  if (mayTurn && (waiting > 0 || !tookTurns) && state.readyJobs < state.readyBound()) state.ring('fetch');
  // Handed on from process to process; or this step has reached its bound over many that might not start.
  const ready = state.readyJobs > aside;
  if (waiting > 0 ? ready : othersWait && (ready || mayTurn)) state.ring('work');
}
