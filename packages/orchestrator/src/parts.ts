import { Attempts } from './attempts.js';
import { BackingWatcher } from './backing-watcher.js';
import { OrchestratorEvents } from './events.js';
import type { RouteTraits } from './model.js';
import {
  ATTEMPT_DEFAULTS,
  type OrchestratorOptions,
  type ResolvedOrchestratorOptions,
  resolveOrchestratorOptions,
} from './options.js';
import { UnconfirmedCommands } from './unconfirmed.js';
import { Waits } from './waits.js';

/** The parts that the services of one orchestrator share. */
export interface OrchestratorParts {
  readonly options: ResolvedOrchestratorOptions;
  readonly events: OrchestratorEvents;
  readonly attempts: Attempts;
  readonly waits: Waits;
  readonly watcher: BackingWatcher;
  readonly unconfirmed: UnconfirmedCommands;
  /** Traits of commands whose executor has no `traits`. */
  readonly defaultTraits: RouteTraits;
  /** Called when an operation becomes due after this delay. */
  onDue: (delayMs: number) => void;
  /** Ends all waits, then the attempts. */
  stop(): Promise<void>;
}

/**
 * Makes the parts of an orchestrator and connects them.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function openParts(given: OrchestratorOptions): OrchestratorParts {
  const options = resolveOrchestratorOptions(given);
  const { executor, store } = options;
  const events = new OrchestratorEvents();
  const attempts: Attempts = new Attempts(options, {
    onBegun: (opId) => waits.begun(opId),
    onEnded: (answer) => waits.announceEnd(answer),
    onLeft(opId, settlement) {
      // Waiters of this instance are served from the store from now on.
      waits.look(opId);
      if (settlement.kind === 'retry') parts.onDue(settlement.delayMs);
    },
  });
  const waits = new Waits(options, events, attempts);
  const watcher = new BackingWatcher(options, events, waits);
  const unconfirmed = new UnconfirmedCommands(options, attempts);
  const unlisten = [
    executor.onSettled?.((opId, outcome, refused) => {
      if (!attempts.settled(opId, outcome, refused)) watcher.settled(opId, outcome);
    }),
    store.notices.hear((opId) => attempts.check(opId)),
  ];
  let stopping: Promise<void> | undefined;
  const end = async () => {
    unconfirmed.stop();
    waits.stop();
    await attempts.stop();
    for (const forget of unlisten) forget?.();
  };
  const parts: OrchestratorParts = {
    options,
    events,
    attempts,
    waits,
    watcher,
    unconfirmed,
    defaultTraits: {
      kind: 'inline',
      attemptsMax: 1 + ATTEMPT_DEFAULTS.maxRetries,
      onLost: 'retry',
      idempotent: false,
    },
    onDue: () => {},
    stop() {
      stopping ??= end();
      return stopping;
    },
  };
  return parts;
}
