import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';

/** How long answers may take that are on their way when all work has ended. */
const LAST_ANSWERS_MS = 2_000;

/** Lets the last answers out: Nest closes the connections after this. */
@Injectable()
export class LastAnswers implements BeforeApplicationShutdown {
  readonly #parts: ServerParts;

  /**
   * Called by Nest.
   * @param parts - of the server.
   */
  constructor(@Inject(PARTS) parts: ServerParts) {
    this.#parts = parts;
  }

  /** Called by Nest, when the engines are drained. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#parts.draining.settled(LAST_ANSWERS_MS);
  }
}
