import { wait } from '@millrace/async-utils';
import { readLedger } from '@millrace/testkit/ledger';
import { asking, type RestartKind, restartPostgres } from '../postgres.js';
import type { ScenarioContext } from '../registry.js';
import { APPLICATION, applicationOf, type OutboxScale } from './settings.js';
import type { OutboxWorld } from './world.js';

/** How often each fault was brought about. */
export interface FaultTally {
  kills: number;
  pusherKills: number;
  fastRestarts: number;
  immediateRestarts: number;
  terminated: number;
  lostReplies: number;
  freezes: number;
  postgresFreezes: number;
}

/** With one kill of so many goes that of a process that pushes. */
const PUSHER_EVERY = 4;
const TERMINATED_MAX = 3;
/** When nobody runs anything for so long, nobody is frozen. */
const FREEZE_WITHIN_MS = 5000;

/** The ends of transactions, and the statements of the outbox by the names of their files. */
const LOST_REPLIES = [
  'COMMIT',
  'end-tasks',
  'claim-ready',
  'COMMIT',
  'start-batch',
  'return-tasks',
  'fold-batches',
  'abort-batch',
  'reopen-batch',
] as const;

const BACKENDS = `
  SELECT pid, state <> 'idle' AS busy FROM pg_stat_activity
  WHERE application_name LIKE $1 || '%' AND application_name NOT LIKE $2 || ':%' ORDER BY pid`;
const TERMINATE =
  'SELECT count(*)::int AS count FROM unnest($1::int[]) AS pid WHERE pg_terminate_backend(pid)';

/** What is done to the processes and to PostgreSQL while they work. */
export class Faults {
  readonly tally: FaultTally = {
    kills: 0,
    pusherKills: 0,
    fastRestarts: 0,
    immediateRestarts: 0,
    terminated: 0,
    lostReplies: 0,
    freezes: 0,
    postgresFreezes: 0,
  };
  readonly #world: OutboxWorld;
  readonly #rng: ScenarioContext['rng'];
  readonly #scale: OutboxScale;
  #frozen: number | undefined;

  /**
   * @param rng - where and when.
   * @param scale - how often.
   */
  constructor(world: OutboxWorld, rng: ScenarioContext['rng'], scale: OutboxScale) {
    this.#world = world;
    this.#rng = rng;
    this.#scale = scale;
  }

  /**
   * Strikes for so long, at least once in every way; resolves when PostgreSQL runs and nobody is frozen.
   * @param forMs - how long.
   */
  async strike(forMs: number): Promise<void> {
    const until = performance.now() + forMs;
    const isOn = () => performance.now() < until;
    await Promise.all([this.#kill(isOn), this.#terminate(isOn), this.#loseReplies(isOn), this.#shake(isOn)]);
    this.#world.endFaults();
  }

  async #kill(isOn: () => boolean): Promise<void> {
    const { pollers, pushers } = this.#world;
    const rng = this.#rng.fork('kill');
    for (let strikes = 0; isOn(); strikes++) {
      await wait(this.#scale.killEveryMs);
      const place = rng.integer(0, this.#scale.pollers - 1);
      const another = rng.integer(0, this.#scale.pushers - 1);
      if (strikes % PUSHER_EVERY === 0) {
        await pushers.kill(another);
        this.tally.pusherKills += 1;
      }
      await pollers.kill(place === this.#frozen ? (place + 1) % this.#scale.pollers : place);
      this.tally.kills += 1;
    }
  }

  async #terminate(isOn: () => boolean): Promise<void> {
    const rng = this.#rng.fork('terminate');
    while (isOn()) {
      await wait(this.#scale.terminateEveryMs);
      // PostgreSQL may be away itself just now.
      this.tally.terminated += await this.#terminateSome(rng).catch(() => 0);
    }
  }

  /** Ends some backends, rather those in the middle of something; a frozen process keeps its own, see `#freeze`. */
  async #terminateSome(rng: ScenarioContext['rng']): Promise<number> {
    const { postgres, pollers } = this.#world;
    const frozen = this.#frozen === undefined ? 'nobody' : applicationOf(pollers.pids[this.#frozen] ?? 0);
    return asking(postgres.url, async (client) => {
      const { rows } = await client.query<{ pid: number; busy: boolean }>(BACKENDS, [APPLICATION, frozen]);
      const mixed = rng.shuffle(rows).sort((one, other) => Number(other.busy) - Number(one.busy));
      const pids = mixed.slice(0, rng.integer(1, TERMINATED_MAX)).map(({ pid }) => pid);
      const { rows: ended } = await client.query<{ count: number }>(TERMINATE, [pids]);
      return ended[0]?.count ?? 0;
    });
  }

  /** PostgreSQL executes a request, and whoever sent it hears nothing but the end of the connection. */
  async #loseReplies(isOn: () => boolean): Promise<void> {
    for (let strikes = 0; isOn(); strikes++) {
      await wait(this.#scale.loseReplyEveryMs);
      const words = LOST_REPLIES[strikes % LOST_REPLIES.length] ?? LOST_REPLIES[0];
      const lost = this.#world.proxy.cutAfterRequest((chunk) => isOn() && chunk.includes(words));
      const isLost = lost.then(
        () => true,
        () => false, // PostgreSQL or the process was gone before.
      );
      if (await Promise.race([isLost, wait(this.#scale.leaseMs).then(() => false)]))
        this.tally.lostReplies += 1;
    }
  }

  /** Restarts of PostgreSQL, between them a process that is frozen while its connections stay, and PostgreSQL frozen itself. */
  async #shake(isOn: () => boolean): Promise<void> {
    const rng = this.#rng.fork('shake');
    const { restartEveryMs, roundsPerFreeze } = this.#scale;
    for (let round = 0; isOn() || round === 0; round++) {
      const [first, second] = rng.shuffle(['fast', 'immediate'] as const) as ['fast', 'immediate'];
      if (round % roundsPerFreeze === 0) await this.#freeze();
      await wait(rng.integer(...restartEveryMs));
      await this.#restart(first, rng);
      await wait(rng.integer(...restartEveryMs));
      if (round % roundsPerFreeze === roundsPerFreeze - 1) await this.#freezePostgres();
      await this.#restart(second, rng);
    }
  }

  /** What was sent meanwhile is executed when it wakes, though whoever sent it has given up. */
  async #freezePostgres(): Promise<void> {
    const { postgres } = this.#world;
    await postgres.pause();
    await wait(1.2 * this.#scale.leaseMs);
    await postgres.resume();
    this.tally.postgresFreezes += 1;
    // Long enough for it to do so, before the restart that follows ends it.
    await wait(this.#scale.leaseMs / 3);
  }

  async #restart(kind: RestartKind, rng: ScenarioContext['rng']): Promise<void> {
    await restartPostgres(this.#world.postgres, kind, this.#scale.awayMaxMs, rng);
    this.tally[kind === 'fast' ? 'fastRestarts' : 'immediateRestarts'] += 1;
  }

  /**
   * Freezes a process with work under way for two leases; others take it over meanwhile. Nobody cuts its connections:
   * when it wakes, only the fence keeps it from recording what it did.
   */
  async #freeze(): Promise<void> {
    const { pollers } = this.#world;
    for (const until = performance.now() + FREEZE_WITHIN_MS; performance.now() < until; await wait(5)) {
      const place = this.#busiest();
      if (place === undefined) continue;
      this.#frozen = place;
      pollers.pause(place);
      // What it ran may have ended in the last moment.
      const isBusy = this.#busiest(place) !== undefined;
      if (isBusy) await wait(2 * this.#scale.leaseMs);
      pollers.wake(place);
      this.#frozen = undefined;
      if (!isBusy) continue;
      this.tally.freezes += 1;
      return;
    }
  }

  /** The poller that runs most, if one runs something; or only this one. */
  #busiest(only?: number): number | undefined {
    const { pollers, ledgerPath } = this.#world;
    const running = runningBy(ledgerPath);
    const counts = pollers.pids.map((pid, place) =>
      only === undefined || place === only ? (running.get(pid) ?? 0) : 0,
    );
    const most = Math.max(...counts);
    return most > 0 ? counts.indexOf(most) : undefined;
  }
}

/** Runs that have begun and not ended, by process. */
function runningBy(ledgerPath: string): Map<number, number> {
  const running = new Map<string, number>();
  for (const { kind, run, pid } of readLedger(ledgerPath)) {
    if (kind === 'began') running.set(String(run), pid);
    if (kind === 'ended') running.delete(String(run));
  }
  const counts = new Map<number, number>();
  for (const pid of running.values()) counts.set(pid, (counts.get(pid) ?? 0) + 1);
  return counts;
}
