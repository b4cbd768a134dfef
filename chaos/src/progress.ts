import type { Outcome } from './registry.js';

/** Goes to the beginning of the line and clears it. */
const CLEAR = '\r\u001B[K';

/** What is written to, as far as it is needed here. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/**
 * Says which scenario is being played: in a terminal on one line that is written over, elsewhere on a line each. What broke is
 * said at once and stays.
 */
export class Progress {
  readonly #screen: Screen;

  /** @param screen - standard error, so that the tables can be had alone. */
  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /**
   * A scenario begins.
   * @param at - which one of this round it is, from 1.
   * @param of - how many there are in a round.
   */
  begins(scenario: string, at: number, of: number): void {
    const line = `${at} of ${of}: ${scenario}`;
    this.#screen.write(this.#screen.isTTY ? `${CLEAR}${line} …` : `${line}\n`);
  }

  /** It has ended. */
  ended({ scenario, verdicts }: Outcome): void {
    if (this.#screen.isTTY) this.#screen.write(CLEAR);
    for (const { invariant, held } of verdicts)
      if (!held) this.#screen.write(`${scenario}: NOT HELD: ${invariant}\n`);
  }
}
