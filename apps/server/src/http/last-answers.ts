import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { gracePlan } from '../compose/grace-plan.js';
import { PARTS, type ServerParts } from '../compose/parts.js';

/** Lets the last answers out: Nest closes the connections after this. */
@Injectable()
export class LastAnswers implements BeforeApplicationShutdown {
  readonly #parts: ServerParts;

  constructor(@Inject(PARTS) parts: ServerParts) {
    this.#parts = parts;
  }

  /** Runs when the engines are drained. */
  async beforeApplicationShutdown(): Promise<void> {
    const { draining, config } = this.#parts;
    await draining.settled(gracePlan(config.gracePeriodMs).lastAnswersMs);
  }
}
