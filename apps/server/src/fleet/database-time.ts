import type { Clock } from '@millrace/foundation';
import { Inject, Injectable } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';

/** The time of the database, as far as it is known here: instances whose clocks differ still mean the same slot. */
@Injectable()
export class DatabaseTime {
  readonly #clock: Clock;
  #aheadMs = 0;

  constructor(@Inject(PARTS) { clock }: Pick<ServerParts, 'clock'>) {
    this.#clock = clock;
  }

  /** Milliseconds since 1970; the time of this process until the database was first heard of. */
  now(): number {
    return this.#clock.now() + this.#aheadMs;
  }

  /**
   * Notes what the database said.
   * @param askedAt - when it was asked, by the clock of this process; the answer came just now.
   */
  note(told: Date, askedAt: number): void {
    this.#aheadMs = told.getTime() - (askedAt + this.#clock.now()) / 2;
  }
}
