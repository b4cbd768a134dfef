import { DEMO_ROUTES, type DemoBody, type DemoStopped } from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { Ask, type Asked, Serve } from '../http/asked.js';
import { Demo } from './demo.js';

/** Starts and stops the demo. */
@Controller()
export class DemoController {
  readonly #demo: Demo;

  /**
   * Called by Nest.
   * @param demo - the demo.
   */
  constructor(@Inject(Demo) demo: Demo) {
    this.#demo = demo;
  }

  /** See the route. */
  @Serve(DEMO_ROUTES.startDemo)
  start(@Ask() { body }: Asked<typeof DEMO_ROUTES.startDemo>): Promise<DemoBody> {
    return this.#demo.start(body);
  }

  /** See the route. */
  @Serve(DEMO_ROUTES.stopDemo)
  stop(): Promise<DemoStopped> {
    return this.#demo.stop();
  }
}
