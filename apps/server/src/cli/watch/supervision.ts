import { duration } from '../show/amounts.js';
import { EXIT } from '../surroundings.js';

/** How long a server gets to end before another takes its place; whoever develops does not wait for a grace period. */
export const END_LIMIT_MS = 3_000;

/**
 * Where a supervisor stands.
 *
 * ```
 *             changed               ended
 *   running ──────────► replacing ─────────► running
 *      │ ended
 *      ▼       changed
 *   waiting ───────────► running
 *
 *   running, replacing ── signal ──► ending ── ended ──► ended
 *   waiting ── signal ──► ended
 * ```
 *
 * `overdue` kills the server, and changes no phase.
 */
export type Phase =
  /** A server runs. */
  | { readonly at: 'running'; readonly losesJobs: boolean }
  /** A server was told to end, for another to take its place. */
  | { readonly at: 'replacing' }
  /** No server runs: the last one has failed. */
  | { readonly at: 'waiting' }
  /** The server was told to end, and nothing comes after it; `isUrgent` when the user has asked for it once more. */
  | { readonly at: 'ending'; readonly isUrgent: boolean }
  | { readonly at: 'ended'; readonly exitCode: number };

/** What a user ends a process in good order with. */
type EndSignal = 'SIGTERM' | 'SIGINT';
/** Tells a server that another takes its place, or that its supervisor is gone: it has `END_LIMIT_MS`, not its grace period. */
export const REPLACE_SIGNAL = 'SIGHUP';

/** What a supervisor learns. */
export type Happening =
  | { readonly what: 'serves'; readonly losesJobs: boolean }
  /** Files of the server, as people are told of them. */
  | { readonly what: 'changed'; readonly files: readonly string[] }
  /** The server, by an exit code or by a signal; whether any of its files is known. */
  | {
      readonly what: 'ended';
      readonly code: number | null;
      readonly signal: string | null;
      readonly isWatching: boolean;
    }
  /** The server has gone on for `END_LIMIT_MS` in a phase that is limited. */
  | { readonly what: 'overdue' }
  /** `isAgain`: not the first press of the keys. */
  | { readonly what: 'signal'; readonly signal: EndSignal; readonly isAgain: boolean };

/** What a supervisor does then. */
export type Deed =
  | { readonly do: 'start' }
  | { readonly do: 'signal'; readonly signal: EndSignal | typeof REPLACE_SIGNAL | 'SIGKILL' }
  | { readonly do: 'say'; readonly line: string };

/** A phase, and what to do to get there. */
export interface Step {
  readonly phase: Phase;
  readonly deeds: readonly Deed[];
}

/**
 * Whether a server that goes on in a phase is killed after `END_LIMIT_MS`.
 * @param phase - where its supervisor stands.
 */
export const isLimited = (phase: Phase): boolean =>
  phase.at === 'replacing' || (phase.at === 'ending' && phase.isUrgent);

const RUNNING: Phase = { at: 'running', losesJobs: false };

/** What a supervisor does about what happens. */
export function stepOf(phase: Phase, happening: Happening): Step {
  switch (happening.what) {
    case 'serves':
      return stay(phase.at === 'running' ? { ...phase, losesJobs: happening.losesJobs } : phase);
    case 'changed':
      return onChange(phase, happening.files);
    case 'overdue':
      return isLimited(phase) ? { phase, deeds: [say(OVERDUE), signal('SIGKILL')] } : stay(phase);
    case 'signal':
      if (phase.at === 'ended') return stay(phase);
      if (phase.at === 'waiting') return stay({ at: 'ended', exitCode: EXIT.DONE });
      // Every one of them: the server knows what another means. One that hangs hears nothing.
      return {
        phase: { at: 'ending', isUrgent: happening.isAgain || (phase.at === 'ending' && phase.isUrgent) },
        deeds: [signal(happening.signal)],
      };
    case 'ended':
      return onEnd(phase, happening);
  }
}

function onChange(phase: Phase, files: readonly string[]): Step {
  const changed = changedSentence(files);
  if (phase.at === 'waiting') return { phase: RUNNING, deeds: [say(`${changed}: starting`), START] };
  // A server that is about to start loads what the files hold then.
  if (phase.at !== 'running') return stay(phase);
  const loss = phase.losesJobs ? ' (bulk jobs in memory are lost)' : '';
  return {
    phase: { at: 'replacing' },
    deeds: [say(`${changed}: starting anew${loss}`), signal(REPLACE_SIGNAL)],
  };
}

function onEnd(phase: Phase, { code, signal, isWatching }: Happening & { readonly what: 'ended' }): Step {
  if (phase.at === 'replacing') return { phase: RUNNING, deeds: [START] };
  if (phase.at === 'running' && isWatching) {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    return {
      phase: { at: 'waiting' },
      deeds: [say(`The server has ended ${how}; it is started anew when one of its files changes.`)],
    };
  }
  if (code !== null || phase.at !== 'ending') return stay({ at: 'ended', exitCode: code ?? EXIT.FAILED });
  // Told to end before it knew how, or killed because the user did not want to wait.
  const isAsTold = signal === 'SIGTERM' || signal === 'SIGINT' || signal === REPLACE_SIGNAL;
  const orElse = phase.isUrgent ? EXIT.INTERRUPTED : EXIT.FAILED;
  return stay({ at: 'ended', exitCode: isAsTold ? EXIT.DONE : orElse });
}

/** The first one by name: whoever has saved everything at once does not need the list. */
const changedSentence = ([first, ...others]: readonly string[]): string =>
  others.length === 0 ? `${first} has changed` : `${first} and ${others.length} more have changed`;

const OVERDUE = `The server has not ended within ${duration(END_LIMIT_MS)}: it is killed.`;
const START: Deed = { do: 'start' };
const say = (line: string): Deed => ({ do: 'say', line });
const signal = (name: (Deed & { readonly do: 'signal' })['signal']): Deed => ({ do: 'signal', signal: name });
const stay = (phase: Phase): Step => ({ phase, deeds: [] });
