import { momentOf, ROUTES, STAT_RINGS, type StatStep, type StatsBody } from '@millrace/contract';
import { Controller, Inject } from '@nestjs/common';
import { requestInvalid } from '../http/request-errors.js';
import { HandleRoute } from '../http/routes.js';
import { RouteInput, type ValidatedRequest } from '../http/validated-request.js';
import { DatabaseTime } from './database-time.js';
import { statPoint } from './stat-point.js';
import { StatStore } from './stat-store.js';

/** How much is shown unless asked. */
const SHOWN_MS = 900_000;

/** Shows the last hours. */
@Controller()
export class StatsController {
  readonly #store: StatStore;
  readonly #time: DatabaseTime;

  constructor(@Inject(StatStore) store: StatStore, @Inject(DatabaseTime) time: DatabaseTime) {
    this.#store = store;
    this.#time = time;
  }

  @HandleRoute(ROUTES.getStats)
  async stats(@RouteInput() { query }: ValidatedRequest<typeof ROUTES.getStats>): Promise<StatsBody> {
    const step = Number(query.step) as StatStep;
    const { first, last } = slotsOf(query, step, this.#time.now());
    const slots = new Map((await this.#store.read(step, first, last)).map((one) => [one.slot, one]));
    const points = Array.from({ length: last - first + 1 }, (_, index) => {
      const slot = slots.get(first + index);
      return slot ? statPoint(slot, step) : null;
    });
    const time = (slot: number) => new Date(slot * step * 1_000).toISOString();
    return { from: time(first), to: time(last + 1), step, points };
  }
}

/** Only slots whose time is over by `to`: a rate of half a slot would be half a rate. */
function slotsOf(
  query: { readonly from?: string | undefined; readonly to?: string | undefined },
  step: StatStep,
  now: number,
): { readonly first: number; readonly last: number } {
  const to = query.to === undefined ? now : (momentOf(query.to) as number);
  const from = query.from === undefined ? to - SHOWN_MS : (momentOf(query.from) as number);
  const slotMs = step * 1_000;
  const last = Math.floor(to / slotMs) - 1;
  const first = Math.max(Math.floor(from / slotMs), last - STAT_RINGS[step] + 1, 0);
  if (first > last)
    throw requestInvalid([{ field: 'from', message: `must be at least ${step} seconds before to` }]);
  return { first, last };
}
