import type { Rng } from '@millrace/foundation';

/** Whether one invariant held in one scenario, and what shows it. */
export interface Verdict {
  readonly invariant: string;
  readonly held: boolean;
  readonly evidence: string;
}

const COMPLAINTS_SHOWN = 5;

/** Returns the number of complaints and the first five of them, as evidence. */
export const some = (complaints: readonly string[]): string =>
  `${complaints.length} wrong: ${complaints.slice(0, COMPLAINTS_SHOWN).join('; ').slice(0, 1500)}`;

/** How one scenario went by one seed. */
export interface Outcome {
  readonly scenario: string;
  readonly seed: number;
  readonly scale: number;
  readonly durationMs: number;
  readonly verdicts: readonly Verdict[];
}

/** What a scenario is given. */
export interface ScenarioContext {
  /** Everything random is drawn here: the seed replays it. */
  readonly rng: Rng;
  /** 1 for the full run; `npm test` runs a fraction. Scenarios scale counts and durations by it. */
  readonly scale: number;
  /** A private folder for ledgers and data; removed afterwards. */
  readonly folder: string;
}

/** A fault scenario on real processes that `npm run chaos -- NAME` knows. */
export interface Scenario {
  readonly name: string;
  /** What is done to the system, in one line. */
  readonly what: string;
  /** Whether it plays tests of `npm test`, whose own short run then leaves it out. */
  readonly isTest?: boolean;
  run(context: ScenarioContext): Promise<readonly Verdict[]>;
}

const scenarios = new Map<string, Scenario>();

/** Makes a scenario known by its name. */
export function registerScenario(scenario: Scenario): void {
  if (scenarios.has(scenario.name)) throw new Error(`There are two scenarios named '${scenario.name}'`);
  scenarios.set(scenario.name, scenario);
}

/** All registered scenarios. */
export const registeredScenarios = (): readonly Scenario[] => [...scenarios.values()];
