import { wait } from '@millrace/async-utils';
import { backoffMs, type Rng } from '@millrace/foundation';
import type { PlannedCampaign } from './plan.js';
import type { ServerWorld } from './world.js';

/** An answer that is no error. */
interface Answered {
  readonly status: number;
  /** Who gave it. */
  readonly door: number;
  readonly body: {
    readonly opId?: string;
    readonly statusUrl?: string;
    readonly state?: string;
    readonly endedAt?: string | null;
    readonly outcome?: unknown;
  };
}

const AGAIN_MS = 100;
const AGAIN_MAX_MS = 800;
/** Longer than every wait that the server allows. */
const CALL_TIMEOUT_MS = 15_000;

/**
 * Those who want campaigns: each asks at any door, with the same key again and again until one answers, then follows the operation at the other
 * door. The ledger is told of every answer.
 */
export class Callers {
  readonly #world: ServerWorld;
  readonly #rng: Rng;
  readonly #over = new AbortController();
  /** By key, as callers were told. */
  readonly #operations = new Map<string, string>();

  /** @param world - who is called. */
  constructor(world: ServerWorld, rng: Rng) {
    this.#world = world;
    this.#rng = rng;
  }

  /** Asks for everything when it is due; resolves when all has ended, or `giveUp` was called. */
  async run(campaigns: readonly PlannedCampaign[]): Promise<void> {
    await Promise.all(
      campaigns.map(async (campaign) => {
        await wait(campaign.dueMs);
        const first = this.#anyDoor();
        const doors = campaign.twice ? [first, this.#otherThan(first)] : [first];
        await Promise.all(doors.map((door) => this.#attend(campaign, door)));
      }),
    );
  }

  /** Ends all waiting: the time is over. */
  giveUp(): void {
    this.#over.abort();
  }

  /** Looks at every operation at each door, for when all is over: all must tell the same. */
  async lookAround(): Promise<void> {
    for (const [key, opId] of this.#operations)
      for (const door of this.#world.doors.keys()) {
        const path = `/api/operations/${opId}/status`;
        this.#note('looked', key, await this.#call(door, path, { method: 'GET' }), true);
      }
  }

  async #attend(campaign: PlannedCampaign, door: number): Promise<void> {
    const { key, customers, budgetMs } = campaign;
    const body = JSON.stringify({
      domain: 'MAIL',
      eventType: 'CAMPAIGN',
      bizKey: key,
      idemKey: key,
      payload: { customers },
      timeBudgetMs: budgetMs,
    });
    const answer = await this.#insist(key, door, '/api/operations', { method: 'POST', body });
    if (!answer) return;
    this.#note('answered', key, answer, answer.status === 200);
    this.#operations.set(key, answer.body.opId ?? '');
    if (answer.status === 202) await this.#follow(key, answer);
  }

  /** At the other door than the one that gave the URL. */
  async #follow(key: string, { body, door }: Answered): Promise<void> {
    for (;;) {
      const other = this.#otherThan(door);
      const answer = await this.#insist(key, other, `${body.statusUrl}?wait=2`, { method: 'GET' }, true);
      if (!answer) return;
      const hasEnded = typeof answer.body.endedAt === 'string';
      this.#note('looked', key, answer, hasEnded);
      if (hasEnded) return;
    }
  }

  /** Asks at one door, then at the other, until it is answered otherwise than with "later". */
  async #insist(
    key: string,
    firstDoor: number,
    path: string,
    init: RequestInit,
    sameDoor = false,
  ): Promise<Answered | undefined> {
    for (let tries = 0, door = firstDoor; !this.#over.signal.aborted; tries++) {
      try {
        return await this.#call(door, path, init);
      } catch (error) {
        if (this.#over.signal.aborted) return undefined;
        this.#world.ledger.append({ kind: 'cut', key, door, error: String(error).slice(0, 300) });
      }
      const pause = { attempt: tries + 1, baseMs: AGAIN_MS, maxMs: AGAIN_MAX_MS };
      await wait(backoffMs({ strategy: 'exponential', ...pause }));
      if (!sameDoor) door = this.#otherThan(door);
    }
    return undefined;
  }

  async #call(door: number, path: string, init: RequestInit): Promise<Answered> {
    const response = await fetch(`${this.#world.doors[door]?.url('http')}${path}`, {
      ...init,
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.any([this.#over.signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
    });
    const body = (await response.json()) as Answered['body'] & { readonly code?: string };
    if (!response.ok) throw new Error(`${response.status} ${body.code}`);
    return { status: response.status, door, body };
  }

  #note(kind: string, key: string, { status, door, body }: Answered, hasEnded: boolean): void {
    const { opId: op, outcome } = body;
    this.#world.ledger.append({ kind, key, op, status, door, outcome: hasEnded ? outcome : undefined });
  }

  #anyDoor = (): number => this.#rng.integer(0, this.#world.doors.length - 1);
  #otherThan = (door: number): number => (door + 1) % this.#world.doors.length;
}
