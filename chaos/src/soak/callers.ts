import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import type { Sums } from './payments.js';
import { SOAK_PROCESSOR, type SoakScale } from './settings.js';

/** A group that was acknowledged, and what was told of it in the end. */
export interface FollowedGroup {
  readonly id: string;
  readonly jobs: number;
  /** Undefined: nothing was told in time. */
  result?: (Sums & { readonly status: string; readonly reduced: number }) | undefined;
}

interface ResultBody {
  readonly status: string;
  readonly success: number;
  readonly failed: number;
  readonly numbers: Readonly<Record<string, { readonly sum: number }>>;
  readonly data: { readonly cents?: number } | null;
}

const CALL_TIMEOUT_MS = 10_000;
const AGAIN_MS = 300;
const LOOK_EVERY_MS = 500;
/** Small tenants that take turns. */
const TENANTS = 5;

/** Those who hand in groups of their own and ask until they know what came of them, and who keeps the demo going. */
export class SoakCallers {
  readonly groups: FollowedGroup[] = [];
  /** Demos that were begun. */
  demos = 0;
  /** Calls that had to be made again, by what was answered. */
  readonly refusals: Record<string, number> = {};
  readonly #doors: readonly string[];
  readonly #rng: Rng;
  readonly #scale: SoakScale;
  readonly #following = new Set<Promise<void>>();
  readonly #givenUp = new AbortController();

  /** @param scale - how often. */
  constructor(doors: readonly string[], rng: Rng, scale: SoakScale) {
    this.#doors = doors;
    this.#rng = rng;
    this.#scale = scale;
  }

  /** Brings groups and demos; resolves when no more come. */
  async run(over: AbortSignal): Promise<void> {
    await Promise.all([this.#bringGroups(over), this.#bringDemos(over)]);
  }

  /** Ends the demo, and with it what is left of it. */
  async endDemo(): Promise<void> {
    await this.#insist(0, 'DELETE', '/api/demo');
  }

  /**
   * Waits until every group's result is known.
   * @param patienceMs - how long.
   */
  async allKnown(patienceMs: number): Promise<void> {
    const timer = setTimeout(() => this.#givenUp.abort(), patienceMs);
    await Promise.all(this.#following);
    clearTimeout(timer);
  }

  async #bringGroups(over: AbortSignal): Promise<void> {
    const rng = this.#rng.fork('groups');
    for (let n = 0; !over.aborted; n++) {
      const id = `soak-${n % TENANTS}/group-${n}`;
      const jobs = rng.integer(...this.#scale.jobsPerGroup);
      const door = rng.integer(0, this.#doors.length - 1);
      const handing = this.#handIn(id, jobs, door).finally(() => this.#following.delete(handing));
      this.#following.add(handing);
      await wait(this.#scale.groupEveryMs, { signal: over }).catch(() => {});
    }
  }

  async #handIn(id: string, jobs: number, door: number): Promise<void> {
    const body = {
      group: { id },
      jobs: Array.from({ length: jobs }, (_, n) => ({
        id: `payment-${n}`,
        processorType: SOAK_PROCESSOR,
        payload: { group: id, n },
      })),
    };
    if (!(await this.#insist(door, 'POST', '/api/bulk/groups', body))) return;
    const followed: FollowedGroup = { id, jobs };
    this.groups.push(followed);
    const path = `/api/bulk/groups/${encodeURIComponent(id)}/result`;
    // At the other door than the one that took it.
    const told = (await this.#insist(door + 1, 'GET', path)) as ResultBody | undefined;
    if (!told) return;
    const { status, success, failed, numbers, data } = told;
    followed.result = { status, success, failed, cents: numbers.cents?.sum ?? 0, reduced: data?.cents ?? 0 };
  }

  /** One after the other: while one runs, a second is answered with the first. */
  async #bringDemos(over: AbortSignal): Promise<void> {
    const { demoSeconds: seconds, whaleJobs } = this.#scale;
    const request = { seconds, whaleJobs, tenants: 4 };
    while (!over.aborted) {
      const told = (await this.#insist(0, 'POST', '/api/demo', request, over)) as
        | { readonly endsAt: string; readonly created: boolean }
        | undefined;
      if (!told) return;
      if (told.created) this.demos++;
      const leftMs = Date.parse(told.endsAt) - Date.now();
      await wait(Math.max(AGAIN_MS, leftMs), { signal: over }).catch(() => {});
    }
  }

  /** Asks at every door in turn until it is answered; undefined when time is over. */
  async #insist(
    firstDoor: number,
    method: string,
    path: string,
    body?: object,
    over: AbortSignal = this.#givenUp.signal,
  ): Promise<unknown> {
    for (let door = firstDoor; !over.aborted; door++) {
      try {
        return await this.#call(door % this.#doors.length, method, path, body);
      } catch (error) {
        const reason = String((error as Error).message).slice(0, 60);
        this.refusals[reason] = (this.refusals[reason] ?? 0) + 1;
      }
      const pauseMs = method === 'GET' ? LOOK_EVERY_MS : AGAIN_MS;
      await wait(pauseMs, { signal: over }).catch(() => {});
    }
    return undefined;
  }

  async #call(door: number, method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.#doors[door]}${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    const answer = (await response.json()) as { readonly code?: string };
    if (!response.ok) throw new Error(`${response.status} ${answer.code}`);
    return answer;
  }
}
