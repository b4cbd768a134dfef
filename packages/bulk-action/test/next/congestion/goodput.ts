import { seededRng } from '@millrace/foundation';
import type { BulkActionConfig } from '../../../src/options.js';
import {
  type Capacity,
  type HiddenService,
  type ServiceTimes,
  timesOf,
} from '../../congestion/hidden-service.js';
import { idealOf, type Profile } from '../../congestion/profiles.js';
import { groupIds, ServiceCalls } from './service-calls.js';

/** Makes a service with this capacity. */
export type MakeService = (capacity: Capacity, times: ServiceTimes) => HiddenService;

/** A run of the engine against a service whose capacity it does not know. */
interface GoodputSetting {
  readonly profile: Profile;
  readonly make: MakeService;
  readonly seed: string;
  readonly meanMs?: number;
  /** By which part of itself the length of the work differs (0.3). */
  readonly spread?: number;
  /** Customers with more work than can be done (8). */
  readonly groups?: number;
  readonly config?: BulkActionConfig;
  /** Another owner takes over each time after this. */
  readonly takeOverMs?: number;
}

/** The result of a run, or the mean of some. */
interface Goodput {
  /** Part of what was possible, and part of the calls that was refused. */
  readonly goodput: number;
  readonly refused: number;
  readonly p99Ms: number;
}

/** Runs 50 slots in two processes against one service. */
export function goodputOf(setting: GoodputSetting): Goodput {
  const {
    profile,
    make,
    seed,
    meanMs = 50,
    spread,
    groups = 8,
    config = {},
    takeOverMs = Infinity,
  } = setting;
  const hidden = make(profile.capacity, timesOf(seededRng(`${seed} service`), meanMs, spread));
  const engine = new ServiceCalls({ seed, config, answer: (_job, atMs) => hidden.call(atMs) });
  const ideal = idealOf(profile);
  engine.submit(groupIds(groups), Math.ceil((1.3 * ideal) / groups));
  for (let atMs = takeOverMs; atMs < profile.endMs; atMs += takeOverMs) {
    engine.run(atMs);
    engine.takeOver();
  }
  engine.run(profile.endMs);
  const { calls } = engine;
  const done = calls.filter(({ accepted, endedMs = Infinity }) => accepted && endedMs <= profile.endMs);
  const latencies = done
    .map(({ startedMs, endedMs = Infinity }) => endedMs - startedMs)
    .sort((a, b) => a - b);
  return {
    goodput: done.length / ideal,
    refused: calls.filter(({ accepted }) => !accepted).length / calls.length,
    p99Ms: latencies[Math.floor(0.99 * latencies.length)] ?? 0,
  };
}

/** Runs of which the mean counts: one seed more or less decides nothing. */
export class GoodputTable {
  readonly #lines: string[] = [];

  /** Runs them all and writes a line. */
  meanOf(what: string, settings: readonly GoodputSetting[]): Goodput {
    const runs = settings.map(goodputOf);
    const mean = (pick: (run: Goodput) => number) =>
      runs.reduce((sum, run) => sum + pick(run), 0) / runs.length;
    const all = {
      goodput: mean(({ goodput }) => goodput),
      refused: mean(({ refused }) => refused),
      p99Ms: mean(({ p99Ms }) => p99Ms),
    };
    const each = runs.map(({ goodput, refused }) => `${percent(goodput)} ${percent(refused)}`).join(', ');
    const cells = [percent(all.goodput), percent(all.refused), `${all.p99Ms.toFixed(0)} ms`];
    this.#lines.push(`${what.padEnd(50)}${cells.map((cell) => cell.padStart(9)).join('')}   ${each}`);
    return all;
  }

  toString(): string {
    const head = `${'the engine'.padEnd(50)}  goodput  refused      p99   each run`;
    return [head, ...this.#lines].join('\n');
  }
}

export const percent = (part: number): string => `${(100 * part).toFixed(1)} %`;
