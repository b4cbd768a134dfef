import type { Recalls } from '../run/recall.js';
import type { CommandResult } from '../state/message.js';

/** What a command has done, and the instances that have to return jobs before it is answered. */
export interface Effect {
  readonly result: CommandResult;
  readonly recalls?: Recalls;
}

export const DONE: Effect = { result: { kind: 'done' } };
export const NOT_FOUND: Effect = { result: { kind: 'not-found' } };
export const ENDED: Effect = { result: { kind: 'ended' } };
