import type { Outcome } from './registry.js';

/** The invariants that every scenario may be judged by: I1 … I15. */
export const INVARIANTS = Array.from({ length: 15 }, (_, index) => `I${index + 1}`);
/** The column of what is checked in one scenario only. */
const OWN = 'own';
/** In the order they are printed. */
export const COLUMNS: readonly string[] = [...INVARIANTS, OWN];

/** What a scenario says of an invariant; undefined where it was not judged. */
export type Cell = 'held' | 'broken' | undefined;

/** One scenario over all its rounds. */
interface Row {
  readonly scenario: string;
  /** Safety: faults throughout. Liveness: faults, then quiet, then I10. None: it broke off before anything was judged. */
  readonly mode: 'safety' | 'liveness' | undefined;
  readonly seconds: number;
  /** By column. */
  readonly cells: Readonly<Record<string, Cell>>;
}

/** Scenario × invariant, and what the rows come to. */
export interface Matrix {
  readonly rows: readonly Row[];
  /** Of verdicts, over all rounds. */
  readonly held: number;
  readonly broken: number;
  /** Invariants that no scenario of the run judged. */
  readonly unjudged: readonly string[];
}

/** What a scenario is judged by that threw before it could judge anything. */
export const RAN_TO_ITS_END = 'ran to its end';

/**
 * The columns that a verdict belongs to, by how its name begins: `I7 rates kept`, or `I2, I14 counted once` when it shows both.
 * @returns `own` when it begins with none that there is.
 */
export function columnsOf(invariant: string): readonly string[] {
  const named = /^(I\d+(?:, I\d+)*) /.exec(invariant)?.[1]?.split(', ') ?? [];
  return named.length > 0 && named.every((name) => INVARIANTS.includes(name)) ? named : [OWN];
}

/** Adds outcomes up to one row per scenario, in the order they were first played. */
export function matrixOf(outcomes: readonly Outcome[]): Matrix {
  const byScenario = new Map<string, Outcome[]>();
  for (const outcome of outcomes)
    byScenario.set(outcome.scenario, [...(byScenario.get(outcome.scenario) ?? []), outcome]);
  const rows = [...byScenario].map(([scenario, own]) => rowOf(scenario, own));
  const verdicts = outcomes.flatMap(({ verdicts: own }) => own);
  const held = verdicts.filter((verdict) => verdict.held).length;
  return {
    rows,
    held,
    broken: verdicts.length - held,
    unjudged: INVARIANTS.filter((name) => rows.every(({ cells }) => cells[name] === undefined)),
  };
}

/** An invariant that was broken in one round, or by one of several checks, is broken. */
function rowOf(scenario: string, outcomes: readonly Outcome[]): Row {
  const cells: Record<string, Cell> = {};
  const verdicts = outcomes.flatMap(({ verdicts: own }) => own);
  for (const { invariant, held } of verdicts)
    for (const column of columnsOf(invariant))
      cells[column] = held && cells[column] !== 'broken' ? 'held' : 'broken';
  const isJudged = verdicts.some(({ invariant }) => invariant !== RAN_TO_ITS_END);
  const mode = cells.I10 ? 'liveness' : 'safety';
  return {
    scenario,
    mode: isJudged ? mode : undefined,
    seconds: outcomes.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000,
    cells,
  };
}

/** What the matrix comes to, in one line. */
export function summaryOf({ rows, held, broken, unjudged }: Matrix): string {
  const judged =
    unjudged.length === 0
      ? `each of ${INVARIANTS[0]}–${INVARIANTS.at(-1)} was judged`
      : `judged by no scenario of this run: ${unjudged.join(', ')}`;
  return `${rows.length} scenarios: ${held} verdicts held, ${broken} broken; ${judged}`;
}
