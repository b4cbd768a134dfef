import { type DemoBody, type DemoStopped, ROUTES } from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { Demo } from './demo.js';

/** Starts and stops the demo. */
@Controller()
export class DemoController {
  readonly #demo: Demo;

  constructor(@Inject(Demo) demo: Demo) {
    this.#demo = demo;
  }

  @HandleRoute(ROUTES.startDemo)
  start(@RouteInput() { body }: ValidatedRequest<typeof ROUTES.startDemo>): Promise<DemoBody> {
    return this.#demo.start(body);
  }

  @HandleRoute(ROUTES.stopDemo)
  stop(): Promise<DemoStopped> {
    return this.#demo.stop();
  }
}
