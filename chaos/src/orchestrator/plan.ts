import type { Rng } from '@millrace/foundation';
import { type PlannedKill, STEPS } from './steps.js';

/** The routes of a run, all of the domain WORK. */
export const EVENTS = ['AGAIN', 'ONCE', 'FLAKY', 'BATCH', 'REFUSED', 'ERRAND'] as const;

/**
 * A route: AGAIN runs in the process, at least once; ONCE at most once; FLAKY fails first; REFUSED lets one in at a time; BATCH is a batch of
 * the outbox; ERRAND is work elsewhere that somebody has to look at.
 */
export type WorkEvent = (typeof EVENTS)[number];

/** The domain of all commands. */
export const DOMAIN = 'WORK';

/** What a command wants done. */
export interface WorkPayload {
  /** How long it takes. */
  readonly ms: number;
  /** Goes on when it is told to stop. */
  readonly heedless: boolean;
  /** Tries that fail before one goes well. */
  readonly failures: number;
  /** The other part forgets it once. */
  readonly forgotten: boolean;
}

/** One command. */
export interface PlannedCommand {
  /** Its idempotency key. */
  readonly key: string;
  readonly event: WorkEvent;
  /** So long after the beginning. */
  readonly dueMs: number;
  readonly budgetMs: number;
  /** So many callers send it at the same moment, to any instance. */
  readonly callers: number;
  /** Somebody cancels it so long after it was acknowledged. */
  readonly cancelAfterMs?: number;
  readonly payload: WorkPayload;
}

/** All that happens by plan. */
export interface Plan {
  readonly commands: readonly PlannedCommand[];
  readonly kills: readonly PlannedKill[];
}

/** How much of it. */
export interface PlanSize {
  readonly commands: number;
  /** Shortest and longest work. */
  readonly ms: readonly [number, number];
  /** Commands arrive for so long. */
  readonly arrivalMs: number;
  /** At so many steps a process dies. */
  readonly stepsMax: number;
}

/** More failures than there are tries. */
export const HOPELESS = 99;

const BUDGETS_MS = [100, 200, 400, 800] as const;
/** Of those that are refused so many come at once. */
const REFUSED_AT_ONCE = 4;
/** Deaths are planned for this part of the time: what follows must be long enough for every step to be reached. */
const KILLS_UNTIL = 0.7;

/** Draws a run: always the same for the same seed and size. */
export function drawPlan(rng: Rng, size: PlanSize): Plan {
  const draw = rng.fork('commands');
  const gapMs = size.arrivalMs / size.commands;
  const commands = Array.from({ length: size.commands }, (_, index) => drawCommand(draw, index, gapMs, size));
  return { commands, kills: drawKills(rng.fork('kills'), size) };
}

/** By number, so that every size has each. */
function drawCommand(rng: Rng, index: number, gapMs: number, { ms }: PlanSize): PlannedCommand {
  const event = EVENTS[index % EVENTS.length] as WorkEvent;
  const turn = Math.floor(index / EVENTS.length);
  const cancelAfterMs = cancelOf(event, turn, rng, ms);
  const drawnMs = rng.integer(...ms);
  const burst = event === 'REFUSED' ? turn - (turn % REFUSED_AT_ONCE) : turn;
  return {
    key: `k${index}`,
    event,
    dueMs: Math.round(gapMs * (burst * EVENTS.length + (index % EVENTS.length))),
    // What is to be cancelled must not have ended when its caller is answered.
    budgetMs: BUDGETS_MS[cancelAfterMs === undefined ? turn % BUDGETS_MS.length : 0] ?? 200,
    callers: turn % 5 === 3 ? 3 : 1,
    ...(cancelAfterMs !== undefined && { cancelAfterMs }),
    payload: {
      ms: cancelAfterMs === undefined ? drawnMs : ms[1],
      heedless: turn % 2 === 0,
      failures: event === 'FLAKY' ? (turn % 6 === 5 ? HOPELESS : 1 + (turn % 2)) : 0,
      forgotten: event === 'ERRAND' && turn % 4 === 2,
    },
  };
}

/** What waits for a retry, what runs elsewhere, and a few of the others. */
function cancelOf(event: WorkEvent, turn: number, rng: Rng, [, longest]: PlanSize['ms']): number | undefined {
  const afterMs = rng.integer(0, longest / 2);
  const every = event === 'BATCH' ? 2 : event === 'ERRAND' || event === 'FLAKY' ? 4 : 9;
  return turn % every === 1 ? afterMs : undefined;
}

function drawKills(rng: Rng, { arrivalMs, stepsMax }: PlanSize): PlannedKill[] {
  const steps = rng.shuffle(STEPS).slice(0, stepsMax);
  return steps.map((step) => ({ step, fromMs: rng.integer(0, arrivalMs * KILLS_UNTIL) }));
}
