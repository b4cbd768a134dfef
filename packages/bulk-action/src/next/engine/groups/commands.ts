import { hasEnded } from '../../../states.js';
import { decide } from '../changes/decide.js';
import { forgetCongestion } from '../congestion/points.js';
import { refresh, unpark } from '../fair/order.js';
import { cutRound } from '../run/end.js';
import type { EngineState } from '../state/state.js';

/** What somebody asks the owner to change. */
export type Command =
  | { readonly kind: 'cancel-group'; readonly groupId: string }
  | { readonly kind: 'forget-congestion'; readonly groupId: string }
  | { readonly kind: 'pause-group'; readonly groupId: string; readonly isPaused: boolean };

/** Carries out a command. One that names nothing, or something that has ended, changes nothing. */
export function receiveCommand(state: EngineState, command: Command): void {
  const group = state.groups.get(command.groupId);
  if (!group || hasEnded(group.status)) return;
  switch (command.kind) {
    case 'cancel-group':
      cutRound(state, group, 'CANCELLED', 'CANCELLED');
      return;
    case 'forget-congestion':
      forgetCongestion(state, group);
      if (group.parkedAt >= 0) unpark(state, group);
      return;
    case 'pause-group':
      if (group.isPaused === command.isPaused) return;
      decide(state, { kind: 'paused', scope: group, isPaused: command.isPaused });
      refresh(state, group);
  }
}
