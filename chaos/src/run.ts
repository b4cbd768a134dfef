import { type ChaosRequest, readCommandLine, USAGE } from './command-line.js';
import { listOf, scenarioList } from './list.js';
import { play } from './play.js';
import { bundlePrograms } from './programs.js';
import { Progress } from './progress.js';
import { type Outcome, registeredScenarios, type Scenario } from './registry.js';
import { print, writeResults } from './report.js';
import './scenarios/index.js';

/** What is asked for by name is always played; a run of all leaves out what `npm test` plays anyway when it is short. */
function choose(known: readonly Scenario[], { scenarios, scale }: ChaosRequest): readonly Scenario[] {
  if (scenarios.length > 0) return known.filter(({ name }) => scenarios.includes(name));
  return known.filter(({ isTest }) => scale === 1 || !isTest);
}

/** With --minutes the scenarios go round, each time with the next seed, until the time is up. */
async function playAll(chosen: readonly Scenario[], request: ChaosRequest): Promise<readonly Outcome[]> {
  const progress = new Progress(process.stderr);
  const outcomes: Outcome[] = [];
  const until = performance.now() + request.minutes * 60_000;
  for (let seed = request.seed; ; seed++) {
    for (const [index, scenario] of chosen.entries()) {
      progress.begins(scenario.name, index + 1, chosen.length);
      const outcome = await play(scenario, seed, request.scale);
      progress.ended(outcome);
      outcomes.push(outcome);
      writeResults(outcomes);
    }
    if (performance.now() >= until) return outcomes;
  }
}

async function main(): Promise<number> {
  const request = readCommandLine(process.argv.slice(2));
  const known = registeredScenarios();
  if (request?.list) {
    const { text, isWhole } = listOf(known);
    console.log(text);
    return isWhole ? 0 : 1;
  }
  const isKnown = (asked: string) => known.some(({ name }) => name === asked);
  if (!request?.scenarios.every(isKnown)) {
    console.error(`Usage: ${USAGE}\n\n${scenarioList(known)}`);
    return 2;
  }
  const chosen = choose(known, request);
  await bundlePrograms();
  const outcomes = await playAll(chosen, request);
  const leftOut = request.scenarios.length > 0 ? [] : known.filter((scenario) => !chosen.includes(scenario));
  print(
    outcomes,
    leftOut.map(({ name }) => name),
  );
  return outcomes.some(({ verdicts }) => verdicts.some(({ held }) => !held)) ? 1 : 0;
}

process.exitCode = await main();
