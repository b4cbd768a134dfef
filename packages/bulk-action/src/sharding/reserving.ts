import type { LeasedJob, ReserveAnswer, ReserveRequest } from '../lease.js';
import { outerToken } from '../rules/shard-tokens.js';
import type { Places } from './places.js';
import type { Shards } from './shards.js';

/** Instances whose requests are remembered: two for each engine of this process, and some that are gone. */
const INSTANCES_MAX = 100;

/** What an instance has asked. */
interface Asked {
  /** Its last request, and who was asked for it. */
  seq: number;
  readonly shards: Set<number>;
  /** By shard: the number of a request that was sent and not answered. */
  readonly unheard: Map<number, number>;
}

/**
 * Reserves from one shard after the other, each time beginning with another one, until there is enough. A request that a shard
 * did not answer may have reserved jobs all the same; they are fetched and given back as soon as it answers again, so that nobody
 * has to wait for their leases to expire.
 */
export class Reserving {
  readonly #shards: Shards;
  readonly #places: Places;
  readonly #instances = new Map<string, Asked>();

  /**
   * @param shards - all of them.
   * @param places - told where the groups of reserved jobs are.
   */
  constructor(shards: Shards, places: Places) {
    this.#shards = shards;
    this.#places = places;
  }

  /**
   * See Leases.
   * @throws MillraceError `BACKEND_UNAVAILABLE` when no shard answers.
   */
  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    const { instanceId, seq, max, turns = 0 } = request;
    const asked = this.#askedBy(instanceId);
    const jobs: LeasedJob[] = [];
    const missing: ReserveAnswer['missing'][number][] = [];
    let rateDenied = 0;
    // Older than the last one: a shard that was not asked for that might take it for a new one.
    if (seq < asked.seq) return { jobs, missing, rateDenied };
    let answered = 0;
    let failure: { readonly error: unknown } | undefined;
    for (const shard of await this.#order(asked, seq)) {
      const left = max - jobs.length;
      if (left <= 0 && answered > 0) break;
      try {
        const answer = await this.#ask(shard, asked, {
          instanceId,
          seq,
          max: left,
          turns: Math.min(turns, left),
        });
        for (const job of answer.jobs) jobs.push(this.#outer(job, shard));
        missing.push(...answer.missing);
        rateDenied += answer.rateDenied;
        answered += 1;
      } catch (error) {
        this.#shards.fail(shard, error);
        failure ??= { error };
      }
    }
    if (answered === 0 && failure) throw failure.error;
    return { jobs, missing, rateDenied };
  }

  /** Whom to ask, beginning with another one each time. A repeat goes to those who were asked before, and nobody else. */
  async #order(asked: Asked, seq: number): Promise<readonly number[]> {
    const { count } = this.#shards;
    const order = Array.from({ length: count }, (_, n) => (seq + n) % count);
    if (seq === asked.seq && asked.shards.size > 0) return order.filter((shard) => asked.shards.has(shard));
    asked.seq = seq;
    asked.shards.clear();
    const reviving = this.#shards.revive();
    const isWorking = (shard: number) => this.#shards.works(shard);
    if (!order.some(isWorking)) await reviving;
    const working = order.filter(isWorking);
    return working.length > 0 ? working : order;
  }

  async #ask(shard: number, { shards, unheard }: Asked, request: ReserveRequest): Promise<ReserveAnswer> {
    const { instanceId, seq } = request;
    const { leases } = this.#shards.at(shard);
    const lost = unheard.get(shard);
    if (lost !== undefined && lost !== seq) {
      // Asked for nothing: where the first request did not arrive, this one reserves nothing either.
      const { jobs } = await leases.reserve({ instanceId, seq: lost, max: 0 });
      await leases.giveBack(jobs.map(({ key, jobId, token }) => ({ key, jobId, token })));
    }
    shards.add(shard);
    unheard.set(shard, seq);
    const answer = await leases.reserve(request);
    unheard.delete(shard);
    return answer;
  }

  #outer(job: LeasedJob, shard: number): LeasedJob {
    this.#places.note(job.key, shard);
    return { ...job, token: outerToken(job.token, this.#shards.count, shard) };
  }

  #askedBy(instanceId: string): Asked {
    let asked = this.#instances.get(instanceId);
    if (!asked) {
      asked = { seq: Number.NEGATIVE_INFINITY, shards: new Set(), unheard: new Map() };
      this.#instances.set(instanceId, asked);
      const [oldest] = this.#instances.keys();
      if (this.#instances.size > INSTANCES_MAX) this.#instances.delete(oldest as string);
    }
    return asked;
  }
}
