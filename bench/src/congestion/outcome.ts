import Table from 'cli-table3';
import { COLOURS } from '../report/svg.js';
import { type ServiceReport, TICK_MS } from './hidden-service.js';
import { type Panel, plot } from './plot.js';
import { idealCalls, type Phase } from './profile.js';

/** What one controller came to on one service. */
export interface ControllerOutcome {
  readonly controller: string;
  readonly report: ServiceReport;
  /** Calls per second, or calls at once, that it allowed at every tick; NaN = no limit. */
  readonly limits: readonly number[];
  readonly limitUnit: string;
}

/** Parts of 1: of the ideal, and of the calls. */
export interface Score {
  readonly goodput: number;
  readonly refused: number;
  readonly p99Ms: number;
}

/** Goodput, refusals and latency, all by the service's own count. */
export function scoreOf({ accepted, refused, p99Ms }: ServiceReport, phases: readonly Phase[]): Score {
  const calls = accepted + refused;
  return { goodput: accepted / idealCalls(phases), refused: calls === 0 ? 0 : refused / calls, p99Ms };
}

/** The outcomes as a table, a line for each controller. */
export function outcomeTable(outcomes: readonly ControllerOutcome[], phases: readonly Phase[]): string {
  const head = ['controller', 'goodput of the ideal', 'refused', 'p99 in the service'];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { controller, report } of outcomes) {
    const { goodput, refused, p99Ms } = scoreOf(report, phases);
    table.push([controller, percent(goodput), percent(refused), `${p99Ms.toFixed(0)} ms`]);
  }
  return table.toString();
}

const percent = (part: number) => `${(100 * part).toFixed(1)} %`;

/** Goodput, limit and capacity over time, a panel for each controller. */
export function outcomePlot(title: string, outcomes: readonly ControllerOutcome[]): string {
  const perSecond = 1000 / TICK_MS;
  const panels = outcomes.map(({ controller, report, limits, limitUnit }): Panel => {
    const { ticks } = report;
    return {
      title: controller,
      lines: [
        { name: 'capacity', colour: COLOURS.grey, values: ticks.map((tick) => tick.perSecond), dashed: true },
        { name: `limit (${limitUnit})`, colour: COLOURS.orange, values: limits.slice(0, ticks.length) },
        { name: 'goodput', colour: COLOURS.blue, values: ticks.map((tick) => tick.accepted * perSecond) },
        { name: 'refused', colour: COLOURS.red, values: ticks.map((tick) => tick.refused * perSecond) },
      ],
    };
  });
  const capacities = outcomes.flatMap(({ report }) => report.ticks.map((tick) => tick.perSecond));
  return plot(title, panels, { tickMs: TICK_MS, unit: 'per second', most: 2 * Math.max(1, ...capacities) });
}
