import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ledger } from '@millrace/testkit/ledger';

/** The moments in the life of an operation at which its process is killed, in the order of that life. */
export const STEPS = [
  'before accept',
  'after accept',
  'before begin',
  'after begin',
  'in handler before effect',
  'in handler after effect',
  'before settle final',
  'after settle final',
  'before settle retry',
  'after settle retry',
  'before settle backed',
  'after settle backed',
  'after claim',
  'before end of backing',
  'after end of backing',
  'within end of batch',
  'after cancel',
  'after cancel ahead',
  'before finalize',
  'after finalize',
  'before reap',
  'after reap',
] as const;

/** One of these moments. */
export type Step = (typeof STEPS)[number];

/** A death that is planned: of the first process that comes to this step after that time. */
export interface PlannedKill {
  readonly step: Step;
  /** So long after the beginning. */
  readonly fromMs: number;
}

/** The mark after which no process kills itself any more. */
export const FAULTS_OVER = 'faults-over';

/** What a process knows of the deaths that are planned. */
export interface KillerParts {
  readonly kills: readonly PlannedKill[];
  /** When the first command is due. */
  readonly beginsAt: number;
  /** The folder where deaths are remembered. */
  readonly marks: string;
  readonly ledger: Ledger;
}

/** Kills its own process at planned steps; each planned death happens in one process only. */
export class Killer {
  readonly #parts: KillerParts;

  constructor(parts: KillerParts) {
    this.#parts = parts;
  }

  /** The process has come to a step: it may be its last. */
  readonly at = (step: Step, opId?: string): void => {
    const { kills, beginsAt, marks, ledger } = this.#parts;
    const sinceMs = Date.now() - beginsAt;
    const due = kills.filter((kill) => kill.step === step && kill.fromMs <= sinceMs);
    if (due.length === 0 || existsSync(join(marks, FAULTS_OVER))) return;
    if (!due.some((kill) => this.#isFirst(kill))) return;
    ledger.append({ kind: 'kills', step, op: opId });
    process.kill(process.pid, 'SIGKILL');
  };

  /** Whether nobody has died this death before. */
  #isFirst({ step }: PlannedKill): boolean {
    try {
      writeFileSync(join(this.#parts.marks, encodeURIComponent(step)), '', { flag: 'wx' });
      return true;
    } catch {
      return false;
    }
  }
}
