import type { DeadLetterSelection as Selection } from '@millrace/bulk-action';
import { DeadLetterService } from '@millrace/bulk-action/nestjs';
import {
  type DeadLetterPage,
  type DeadLetterResponse,
  type DeadLetterSelection,
  ROUTES,
} from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { ERRORS } from '../errors.js';
import { pageBody } from '../http/bodies.js';
import { callerCaused } from '../http/request-errors.js';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import type { Caller } from '../security/caller.js';
import { deadLetterBody, signatureBody } from './bodies.js';
import { groupRef } from './to-engine-input.js';

const { listDeadLetters: LIST, redriveDeadLetters: REDRIVE, purgeDeadLetters: PURGE } = ROUTES;

/** Serves dead letters. */
@Controller()
export class DeadLettersController {
  readonly #letters: DeadLetterService;

  /** @param letters - knows them, sends them back, throws them away. */
  constructor(@Inject(DeadLetterService) letters: DeadLetterService) {
    this.#letters = letters;
  }

  @HandleRoute(LIST)
  async list(@RouteInput() { query, caller }: ValidatedRequest<typeof LIST>): Promise<DeadLetterPage> {
    const { groupBy, jobId, signature, limit, cursor } = query;
    const { tenant } = caller;
    const groupId = query.groupId === undefined ? undefined : groupRef(caller, query.groupId);
    if (groupBy === 'signature') {
      const causes = await callerCaused(() => this.#letters.signatures({ groupId, tenant }, { limit }));
      return { signatures: causes.map((cause) => signatureBody(caller, cause)) };
    }
    const filter = { groupId, jobId, signature, tenant };
    const page = await callerCaused(() => this.#letters.list(filter, { limit, cursor }));
    return pageBody(page, (letter) => deadLetterBody(caller, letter));
  }

  @HandleRoute(REDRIVE)
  redrive(@RouteInput() { body, caller }: ValidatedRequest<typeof REDRIVE>): Promise<DeadLetterResponse> {
    return this.#move(caller, body, (selection, max) => this.#letters.redrive(selection, { max }));
  }

  @HandleRoute(PURGE)
  purge(@RouteInput() { body, caller }: ValidatedRequest<typeof PURGE>): Promise<DeadLetterResponse> {
    return this.#move(caller, body, (selection, max) => this.#letters.purge(selection, { max }));
  }

  async #move(
    caller: Caller,
    body: DeadLetterSelection,
    move: (selection: Selection, max: number) => Promise<number>,
  ): Promise<DeadLetterResponse> {
    const selections = selectionsOf(caller, body);
    const { expectedCount: expected } = body;
    return callerCaused(async () => {
      let count = 0;
      for (const selection of selections) count += await this.#letters.count(selection);
      if (count !== expected) throw ERRORS.create('COUNT_CHANGED', { count, expected });
      let moved = 0;
      // What died since it was counted has not been seen by whoever confirmed the count.
      for (const selection of selections) moved += await move(selection, expected - moved);
      return { count: moved };
    });
  }
}

/** What is to be moved, one selection or one for each id; those of a tenant's key never reach beyond the tenant. */
function selectionsOf(
  caller: Caller,
  { ids, groupId, signature, all }: DeadLetterSelection,
): readonly Selection[] {
  const { tenant } = caller;
  if (groupId !== undefined)
    return [{ groupId: groupRef(caller, groupId), ...(signature !== undefined && { signature }) }];
  if (signature !== undefined) return [{ signature, tenant }];
  if (all) return [{ all, tenant }];
  const named = (ids ?? []).map((id) => ({ groupId: groupRef(caller, id.groupId), jobId: id.jobId }));
  // Each once: the same letter cannot be moved twice.
  return [...new Map(named.map((id) => [`${id.groupId} ${id.jobId}`, id])).values()];
}
