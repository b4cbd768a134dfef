import { type DemoBody, type DemoStopped, ROUTES } from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { Ask, type Asked, Serve } from '../http/asked.js';
import { Demo } from './demo.js';

/** Starts and stops the demo. */
@Controller()
export class DemoController {
  readonly #demo: Demo;

  constructor(@Inject(Demo) demo: Demo) {
    this.#demo = demo;
  }

  @Serve(ROUTES.startDemo)
  start(@Ask() { body }: Asked<typeof ROUTES.startDemo>): Promise<DemoBody> {
    return this.#demo.start(body);
  }

  @Serve(ROUTES.stopDemo)
  stop(): Promise<DemoStopped> {
    return this.#demo.stop();
  }
}
