import type { Commit, InboxEntry } from '../../../src/next/engine/engine.js';
import type { Settlement } from '../../../src/next/engine/run/settle.js';
import type { Change } from '../../../src/next/engine/state/change.js';

/** What an engine was given. */
export type Input =
  | { readonly kind: 'entry'; readonly entry: InboxEntry }
  | { readonly kind: 'settle'; readonly instanceId: string; readonly settlement: Settlement }
  | { readonly kind: 'buried'; readonly instanceIds: readonly string[] }
  | { readonly kind: 'loaded' }
  | { readonly kind: 'commit'; readonly backlog: Backlog; readonly readyBefore: number };

/** The place of a tenant or group in the fair order. */
export interface Standing {
  readonly weight: number;
  readonly start: number;
}

/** Tenants and groups in the fair orders before and after a pass over them. */
interface Backlog {
  readonly before: ReadonlyMap<string, Standing>;
  readonly after: ReadonlyMap<string, Standing>;
}

/** One input, and what the engine decided at once. */
export interface Step {
  readonly input: Input;
  readonly changes: readonly Change[];
  readonly nowUs: number;
}

/** Everything between two commits, as it became durable. */
export interface Committed {
  readonly steps: readonly Step[];
  readonly commit: Commit;
}

/** What must hold; see the invariants of the proof. IDLE: no worker waits while a job may run. */
export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9' | 'I10' | 'I14' | 'IDLE';

/** Collects what did not hold. */
export class Violations {
  readonly list: { readonly invariant: Invariant; readonly message: string }[] = [];
  at = '';

  check(holds: boolean, invariant: Invariant, message: () => string): void {
    if (!holds) this.list.push({ invariant, message: `${this.at}: ${message()}` });
  }
}

/** Counts how often each thing was met. */
export class Tally {
  readonly counts = new Map<string, number>();

  meet(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }
}
