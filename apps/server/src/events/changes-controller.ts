import { ROUTES } from '@millrace/contract';
import { Controller, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { HandleRoute } from '../http/routes.js';
import { sendEvents } from '../http/send-events.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { ChangesHub } from './changes-hub.js';

/** Tells clients what changes. */
@Controller()
export class ChangesController {
  readonly #parts: ServerParts;
  readonly #hub: ChangesHub;

  constructor(@Inject(PARTS) parts: ServerParts, @Inject(ChangesHub) hub: ChangesHub) {
    this.#parts = parts;
    this.#hub = hub;
  }

  @HandleRoute(ROUTES.watchChanges)
  async watch(
    @RouteInput() { caller }: ValidatedRequest<typeof ROUTES.watchChanges>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await sendEvents(reply, (signal) => this.#hub.listen(caller, signal), this.#parts);
  }
}
