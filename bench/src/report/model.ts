import type { GaugeResult } from '../gauges.js';
import type { RowResult } from '../rows.js';

/** What a number is worth nothing without. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly os: string;
  readonly node: string;
  readonly redis: string;
  readonly postgres: string;
}

/** What one benchmark came to; also the file that it leaves. */
export interface BenchReport {
  readonly bench: string;
  /** One short iteration of each: nothing of it is judged. */
  readonly smoke: boolean;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly seconds: number;
  readonly commit: string;
  readonly machine: Machine;
  readonly settings: readonly string[];
  readonly results: readonly RowResult[];
  readonly gauges: readonly GaugeResult[];
}
