import type { LedgerEntry } from '@millrace/testkit/ledger';
import { some, type Verdict } from '../registry.js';
import { ROWS_PER_WRITE } from './tables.js';

/** A note as it is stored. */
export interface StoredNote {
  readonly note: string;
  readonly rows: number;
  /** Rows that do not hold what was written. */
  readonly broken: number;
}

const of = (entries: readonly LedgerEntry[], wanted: string) => entries.filter(({ kind }) => kind === wanted);

/**
 * I1: every write that was acknowledged is there; one that was under way at a kill is there as a whole, or not at all; nothing else is.
 */
export function checkWritten(entries: readonly LedgerEntry[], stored: readonly StoredNote[]): Verdict {
  const acknowledged = new Set(of(entries, 'written').map(({ note }) => String(note)));
  const begun = new Set(of(entries, 'writing').map(({ note }) => String(note)));
  const there = new Map(stored.map((each) => [each.note, each]));
  const wrong: string[] = [];
  for (const note of acknowledged) if (!there.has(note)) wrong.push(`${note} was acknowledged, and is gone`);
  for (const { note, rows, broken } of stored) {
    if (!begun.has(note)) wrong.push(`${note}: nobody wrote it`);
    if (rows !== ROWS_PER_WRITE) wrong.push(`${note} has ${rows} of ${ROWS_PER_WRITE} rows`);
    if (broken > 0) wrong.push(`${note} has ${broken} rows that are not what was written`);
  }
  const unanswered = stored.filter(({ note }) => !acknowledged.has(note)).length;
  return {
    invariant: 'I1 what was acknowledged is there',
    held: wrong.length === 0 && acknowledged.size > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${acknowledged.size} writes acknowledged, all there; of ${begun.size - acknowledged.size} cut short ${unanswered} are there, each whole`,
  };
}

/**
 * Whoever opens a directory that another process has open is refused and told who has it; that one goes on as if nothing had happened.
 */
export function checkRefused(entries: readonly LedgerEntry[]): Verdict {
  const wrong = of(entries, 'opened').map(({ owner }) => `opened beside process ${owner}`);
  const refused = of(entries, 'not-opened');
  for (const { owner, code, message, at } of refused) {
    if (code !== 'DATABASE_IN_USE') wrong.push(`refused as ${code}: ${message}`);
    if (!String(message).includes(`process ${owner}`)) wrong.push(`not told of process ${owner}: ${message}`);
    if (!of(entries, 'written').some((entry) => entry.pid === owner && entry.at >= at))
      wrong.push(`process ${owner} wrote nothing more`);
  }
  return {
    invariant: 'opened twice: the second is refused',
    held: wrong.length === 0 && refused.length > 0,
    evidence:
      wrong.length > 0 ? some(wrong) : `${refused.length} openers, each told who has it; the first wrote on`,
  };
}

/** After each kill the next process takes the directory over. */
export function checkTakenOver(entries: readonly LedgerEntry[], upWithinMs: number): Verdict {
  const lives = of(entries, 'took-over');
  const kills = of(entries, 'killed');
  const next = (at: number) => lives.find((life) => life.at >= at);
  const wrong = kills.filter(({ at }) => !next(at)).map(({ owner }) => `nobody came after process ${owner}`);
  const slowestMs = Math.max(0, ...lives.map(({ tookMs }) => Number(tookMs)));
  if (slowestMs > upWithinMs) wrong.push(`one came up after ${slowestMs} ms`);
  return {
    invariant: 'taken over after each kill',
    held: wrong.length === 0 && kills.length > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${kills.length} kills, ${lives.length} lives, the slowest up after ${(slowestMs / 1000).toFixed(1)} s`,
  };
}

/**
 * A fault that never happened proves nothing.
 * @param halfMade - whether a process was killed while it made the database.
 */
export function checkKills(entries: readonly LedgerEntry[], halfMade: boolean): Verdict {
  const killed = new Set(of(entries, 'killed').map(({ owner }) => owner));
  const answered = new Set(of(entries, 'written').map(({ note }) => note));
  const cut = of(entries, 'writing').filter(({ note, pid }) => killed.has(pid) && !answered.has(note));
  const ended = new Set(of(entries, 'ended').map(({ run }) => run));
  const runs = of(entries, 'began').filter(({ run, pid }) => killed.has(pid) && !ended.has(run));
  const times = {
    kills: killed.size,
    'in the middle of a write': new Set(cut.map(({ pid }) => pid)).size,
    'in the middle of a task': new Set(runs.map(({ pid }) => pid)).size,
    'in the making': halfMade ? 1 : 0,
  };
  return {
    invariant: 'every fault happened',
    held: Object.values(times).every((count) => count > 0),
    evidence: Object.entries(times)
      .map(([fault, count]) => `${fault} × ${count}`)
      .join(', '),
  };
}
