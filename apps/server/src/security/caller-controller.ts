import { type CallerBody, ROUTES } from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';
import { isEmbedded } from '../config/model.js';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';

/** Tells callers who they are. */
@Controller()
export class CallerController {
  readonly #parts: ServerParts;

  constructor(@Inject(PARTS) parts: ServerParts) {
    this.#parts = parts;
  }

  @HandleRoute(ROUTES.getCaller)
  caller(@RouteInput() { caller }: ValidatedRequest<typeof ROUTES.getCaller>): CallerBody {
    const { name, role, tenant } = caller;
    const { config, version } = this.#parts;
    return {
      name,
      role: role as CallerBody['role'],
      tenant: tenant ?? null,
      version,
      embedded: isEmbedded(config),
    };
  }
}
