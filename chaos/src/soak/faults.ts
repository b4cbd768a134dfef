import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { Redis } from 'ioredis';
import { asking } from '../postgres.js';
import type { ServerPlace } from '../server/world.js';
import type { SoakScale } from './settings.js';
import type { SoakWorld } from './world.js';

/** Everything that is done to the system. */
export const SOAK_FAULTS = [
  'worker killed',
  'worker stopped',
  'Redis cut off',
  'PostgreSQL cut off',
  'scripts flushed',
  'backends terminated',
  'Redis frozen',
] as const;

type FaultName = (typeof SOAK_FAULTS)[number];

/** Of the time: in which the second worker is struck, too. After it there is a worker whose memory can be followed. */
const BOTH_STRUCK = 0.25;

const TERMINATE = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND pid % 3 = $1`;

/** Strikes every few seconds: all kinds in turn, each round in another order. */
export class SoakFaults {
  /** How often each has happened. */
  readonly happened = new Map<FaultName, number>();
  readonly #world: SoakWorld;
  readonly #rng: Rng;
  readonly #scale: SoakScale;
  readonly #workers: readonly ServerPlace[];
  #struck = 0;

  /** @param scale - how often. */
  constructor(world: SoakWorld, rng: Rng, scale: SoakScale) {
    this.#world = world;
    this.#rng = rng;
    this.#scale = scale;
    this.#workers = world.places.filter(({ role }) => role === 'worker');
  }

  /**
   * Strikes until the time is over and every kind has happened; resolves when everybody is there again.
   */
  async strike(): Promise<void> {
    const began = performance.now();
    const passed = () => (performance.now() - began) / this.#scale.durationMs;
    for (let round: FaultName[] = []; passed() < 1 || this.happened.size < SOAK_FAULTS.length; ) {
      if (round.length === 0) round = this.#rng.shuffle([...SOAK_FAULTS]);
      await wait(this.#scale.faultEveryMs);
      const name = round.pop() as FaultName;
      await this.#do(name, passed() < BOTH_STRUCK);
      this.happened.set(name, (this.happened.get(name) ?? 0) + 1);
    }
    await Promise.all(this.#workers.map(({ crew }) => crew.everyoneUp()));
  }

  #do(name: FaultName, both: boolean): Promise<unknown> {
    const { redis, postgres, wires } = this.#world;
    const acts: Record<FaultName, () => unknown> = {
      'worker killed': () => this.#victim(both).crew.kill(0),
      'worker stopped': () => this.#victim(both).crew.dismiss(0),
      'Redis cut off': () => wires.redis.cut(),
      'PostgreSQL cut off': () => wires.postgres.cut(),
      'scripts flushed': () => flushScripts(redis.url),
      'backends terminated': () =>
        asking(postgres.url, (client) => client.query(TERMINATE, [this.#rng.integer(0, 2)])),
      'Redis frozen': async () => {
        await redis.pause();
        await wait(this.#scale.frozenMs);
        await redis.resume();
      },
    };
    return Promise.resolve(acts[name]());
  }

  #victim(both: boolean): ServerPlace {
    const choice = both ? this.#workers : this.#workers.slice(0, 1);
    return choice[this.#struck++ % choice.length] as ServerPlace;
  }
}

async function flushScripts(url: string): Promise<void> {
  const redis = new Redis(url, { protocol: 2 });
  try {
    await redis.script('FLUSH');
  } finally {
    redis.disconnect();
  }
}
