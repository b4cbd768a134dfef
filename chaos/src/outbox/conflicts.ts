import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import type { LedgerEntry } from '@millrace/testkit/ledger';
import { some, type Verdict } from '../registry.js';
import type { CrossedPair } from './conflict-plan.js';
import type { ConflictScale } from './conflict-settings.js';
import type { ConflictWorld } from './conflict-world.js';
import { counted, type Evidence } from './evidence.js';
import { startCrossed } from './interleave.js';
import { loseHints } from './lost-hints.js';
import { OutsideClient } from './outside-client.js';
import { TRIES } from './scripts.js';

/** What is done to PostgreSQL and to those who use it while they work. */
export class Conflicts {
  readonly #world: ConflictWorld;
  readonly #scale: ConflictScale;
  readonly #outside: OutsideClient;
  #freezes = 0;
  #deafWindows = 0;

  /** @param scale - how often. */
  constructor(world: ConflictWorld, rng: Rng, scale: ConflictScale) {
    this.#world = world;
    this.#scale = scale;
    this.#outside = new OutsideClient(world.postgres.url, rng, scale.size.accounts);
  }

  /** How often each fault was brought about; what the handlers met is in the ledger. */
  get tally(): Readonly<Record<string, number>> {
    return {
      'handlers met by an outside client': this.#outside.met,
      'deadlocks of the outside client': this.#outside.deadlocked,
      'hints lost for a while': this.#deafWindows,
      'PostgreSQL frozen': this.#freezes,
    };
  }

  /**
   * Brings everything about while batches arrive; resolves when PostgreSQL runs, hints arrive and the pairs are started.
   */
  async strike(pairs: readonly CrossedPair[]): Promise<void> {
    let isOn = true;
    const meddling = this.#outside.meddle(() => isOn);
    const crossing = this.#cross(pairs);
    await this.#shake();
    isOn = false;
    await Promise.all([meddling, crossing]);
  }

  async #cross(pairs: readonly CrossedPair[]): Promise<void> {
    for (const pair of pairs) await startCrossed(pair, this.#world.own);
  }

  /** One after the other: how soon work is found without hints says nothing while PostgreSQL stands still. */
  async #shake(): Promise<void> {
    const { rounds, deafMs, freezeMs, size } = this.#scale;
    const restMs = Math.max(0, size.arrivalMs / rounds - deafMs) / 2;
    const { postgres, ledger } = this.#world;
    for (let round = 0; round < rounds; round++) {
      await loseHints(postgres.url, true);
      ledger.append({ kind: 'deaf' });
      await wait(restMs / 2 + deafMs);
      ledger.append({ kind: 'hears-again' });
      await loseHints(postgres.url, false);
      this.#deafWindows += 1;
      await wait(restMs / 2);
      await postgres.pause();
      await wait(freezeMs);
      await postgres.resume();
      this.#freezes += 1;
      await wait(restMs);
    }
  }
}

/** What the handlers met: conflicts thrown in the middle of them by SQLSTATE, and tries given back because others were in the way of their end. */
function conflictsMet(
  evidence: Pick<Evidence, 'testimony'>,
  entries: readonly LedgerEntry[],
): Readonly<Record<string, number>> {
  const failed = entries.filter(({ kind, how }) => kind === 'ended' && how === 'failed');
  const bySqlState = counted(failed.map(({ sqlState }) => String(sqlState)));
  const unended = [...(evidence.testimony.unended?.values() ?? [])];
  return {
    'deadlocks of handlers': bySqlState['40P01'] ?? 0,
    'serialization failures in handlers': bySqlState['40001'] ?? 0,
    'ends given back for a conflict': unended.reduce((sum, { returned }) => sum + returned, 0),
  };
}

/**
 * A fault that never happened proves nothing. Conflicts at the very end of a try are told, and need not occur: what is left of the time for them
 * is short.
 */
export function checkConflictsHappened(
  tally: Readonly<Record<string, number>>,
  evidence: Pick<Evidence, 'testimony'>,
  entries: readonly LedgerEntry[],
): Verdict {
  const { 'ends given back for a conflict': atEnds, ...must } = {
    ...tally,
    ...conflictsMet(evidence, entries),
  };
  // Whom of the two it ends is up to PostgreSQL.
  const {
    'deadlocks of handlers': inside = 0,
    'deadlocks of the outside client': outside = 0,
    ...rest
  } = must;
  return {
    invariant: 'every fault happened',
    held: inside + outside > 0 && Object.values(rest).every((count) => count > 0),
    evidence: Object.entries({ ...must, 'ends given back for a conflict': atEnds })
      .map(([fault, count]) => `${fault} × ${count}`)
      .join(', '),
  };
}

/** Conflicts cost no attempt: a task that met one was charged for what its own script does, and no more. */
export function checkConflictsFree(
  { plan, tasks, testimony }: Pick<Evidence, 'plan' | 'tasks' | 'testimony'>,
  entries: readonly LedgerEntry[],
): Verdict {
  const isConflict = ({ kind, sqlState }: LedgerEntry) =>
    kind === 'ended' && (sqlState === '40001' || sqlState === '40P01');
  const met = new Set(entries.filter(isConflict).map(({ task }) => String(task)));
  for (const [name, { returned }] of testimony.unended ?? []) if (returned > 0) met.add(name);
  const wrong: string[] = [];
  for (const name of met) {
    const [bizKey = '', key = ''] = name.split('#');
    const does = plan.batches.find((batch) => batch.bizKey === bizKey)?.payload.scripts[key]?.does;
    const own = does === 'fails-first' ? 2 : does === 'fails-always' ? TRIES : 1;
    const { attempts = 0, status = 'not there' } = tasks.get(name) ?? {};
    if (attempts > own || (status !== 'CANCELLED' && attempts !== own))
      wrong.push(
        `${name} is ${status}, met conflicts, and was charged ${attempts} instead of ${own} attempts`,
      );
  }
  return {
    invariant: 'conflicts cost no attempt',
    held: wrong.length === 0 && met.size > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${met.size} tasks met conflicts, each charged for its own tries only`,
  };
}
