import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { readLedger } from '@millrace/testkit';
import { asking } from '../outbox/asking.js';
import { APPLICATION, type OrchestratorScale } from './settings.js';
import type { OrchestratorWorld } from './world.js';

/** How often each fault was brought about from outside. */
export interface FaultTally {
  kills: number;
  dismissals: number;
  fastRestarts: number;
  immediateRestarts: number;
  terminated: number;
  lostReplies: number;
  freezes: number;
}

const TERMINATED_MAX = 3;
/** When nobody runs anything for so long, nobody is frozen. */
const FREEZE_WITHIN_MS = 3000;
/** Past the lease, and past the look of whoever takes over. */
const FROZEN_LEASES = 1.8;

/** The statements of the orchestrator by the names of their files; each goes by that name and eight digits. */
const LOST_REPLIES = [
  'accept',
  'settle',
  'claim',
  'settle',
  'cancel',
  'end-backed',
  'accept',
  'begin',
  'finalize',
  'reap',
  'extend',
].map((verb) => new RegExp(`\\b${verb}-[0-9a-f]{8}\\b`));

const BACKENDS = `
  SELECT pid, state <> 'idle' AS busy FROM pg_stat_activity WHERE application_name LIKE $1 || '%' ORDER BY pid`;
const TERMINATE =
  'SELECT count(*)::int AS count FROM unnest($1::int[]) AS pid WHERE pg_terminate_backend(pid)';

/** What is done to the instances and to PostgreSQL while they work, besides the deaths that are planned. */
export class Faults {
  readonly tally: FaultTally = {
    kills: 0,
    dismissals: 0,
    fastRestarts: 0,
    immediateRestarts: 0,
    terminated: 0,
    lostReplies: 0,
    freezes: 0,
  };
  readonly #world: OrchestratorWorld;
  readonly #rng: Rng;
  readonly #scale: OrchestratorScale;
  #frozen: number | undefined;

  /**
   * @param world - what is struck.
   * @param rng - where and when.
   * @param scale - how often.
   */
  constructor(world: OrchestratorWorld, rng: Rng, scale: OrchestratorScale) {
    this.#world = world;
    this.#rng = rng;
    this.#scale = scale;
  }

  /**
   * Strikes until then; resolves when PostgreSQL runs and nobody is frozen.
   * @param untilAt - by the clock of the machine.
   */
  async strike(untilAt: number): Promise<void> {
    const isOn = () => Date.now() < untilAt;
    await Promise.all([
      this.#kill(isOn),
      this.#dismiss(isOn),
      this.#terminate(isOn),
      this.#loseReplies(isOn),
      this.#shake(isOn),
    ]);
    this.#world.endFaults();
  }

  async #kill(isOn: () => boolean): Promise<void> {
    const rng = this.#rng.fork('kill');
    for (;;) {
      await wait(this.#scale.killEveryMs);
      if (!isOn()) return;
      await this.#world.instances.kill(this.#anyPlace(rng));
      this.tally.kills += 1;
    }
  }

  /** Ends one as a deploy would: what it cannot end in its grace period it gives back. */
  async #dismiss(isOn: () => boolean): Promise<void> {
    const rng = this.#rng.fork('dismiss');
    for (;;) {
      await wait(this.#scale.dismissEveryMs);
      if (!isOn()) return;
      await this.#world.instances.dismiss(this.#anyPlace(rng));
      this.tally.dismissals += 1;
    }
  }

  async #terminate(isOn: () => boolean): Promise<void> {
    const rng = this.#rng.fork('terminate');
    for (;;) {
      await wait(this.#scale.terminateEveryMs);
      if (!isOn()) return;
      // PostgreSQL may be away itself just now.
      this.tally.terminated += await this.#terminateSome(rng).catch(() => 0);
    }
  }

  /** Ends some backends, rather those in the middle of something. */
  async #terminateSome(rng: Rng): Promise<number> {
    return asking(this.#world.postgres.url, async (client) => {
      const { rows } = await client.query<{ pid: number; busy: boolean }>(BACKENDS, [APPLICATION]);
      const mixed = rng.shuffle(rows).sort((one, other) => Number(other.busy) - Number(one.busy));
      const pids = mixed.slice(0, rng.integer(1, TERMINATED_MAX)).map(({ pid }) => pid);
      const { rows: ended } = await client.query<{ count: number }>(TERMINATE, [pids]);
      return ended[0]?.count ?? 0;
    });
  }

  /** PostgreSQL executes a request, and whoever sent it hears nothing but the end of the connection. */
  async #loseReplies(isOn: () => boolean): Promise<void> {
    for (let strikes = 0; ; strikes++) {
      await wait(this.#scale.loseReplyEveryMs);
      if (!isOn()) return;
      const words = LOST_REPLIES[strikes % LOST_REPLIES.length] as RegExp;
      const lost = this.#world.proxy.cutAfterRequest(
        (chunk) => isOn() && words.test(chunk.toString('latin1')),
      );
      const isLost = lost.then(
        () => true,
        () => false, // PostgreSQL or the process was gone before.
      );
      const patience = wait(this.#scale.timing.leaseMs).then(() => false);
      if (await Promise.race([isLost, patience])) this.tally.lostReplies += 1;
    }
  }

  /** Restarts of PostgreSQL, before each pair an instance that is frozen; once in any case. */
  async #shake(isOn: () => boolean): Promise<void> {
    const rng = this.#rng.fork('shake');
    const { restartEveryMs } = this.#scale;
    for (let round = 0; isOn() || round === 0; round++) {
      const [first, second] = rng.shuffle(['fast', 'immediate'] as const) as ['fast', 'immediate'];
      await this.#freeze();
      await wait(rng.integer(...restartEveryMs));
      await this.#restart(first, rng);
      await wait(rng.integer(...restartEveryMs));
      await this.#restart(second, rng);
    }
  }

  /** After a crash it stays away for a while, in the full run often longer than a call waits. */
  async #restart(kind: 'fast' | 'immediate', rng: Rng): Promise<void> {
    const { postgres } = this.#world;
    if (kind === 'immediate') {
      await postgres.stopImmediate();
      await wait(rng.integer(0, this.#scale.awayMaxMs));
    }
    await postgres.restart();
    this.tally[kind === 'fast' ? 'fastRestarts' : 'immediateRestarts'] += 1;
  }

  /**
   * Freezes an instance with work under way until others have taken that over; when it wakes, only the fence keeps it from recording what
   * it did.
   */
  async #freeze(): Promise<void> {
    const { instances } = this.#world;
    for (const until = performance.now() + FREEZE_WITHIN_MS; performance.now() < until; await wait(5)) {
      const place = this.#busiest();
      if (place === undefined) continue;
      this.#frozen = place;
      instances.pause(place);
      // What it ran may have ended in the last moment.
      const isBusy = this.#busiest(place) !== undefined;
      if (isBusy) await wait(FROZEN_LEASES * this.#scale.timing.leaseMs);
      instances.wake(place);
      this.#frozen = undefined;
      if (!isBusy) continue;
      this.tally.freezes += 1;
      return;
    }
  }

  /** The instance that runs most, if one runs something; or only this one. */
  #busiest(only?: number): number | undefined {
    const { instances, ledgerPath } = this.#world;
    const running = runningBy(ledgerPath);
    const counts = instances.pids.map((pid, place) =>
      only === undefined || place === only ? (running.get(pid) ?? 0) : 0,
    );
    const most = Math.max(...counts);
    return most > 0 ? counts.indexOf(most) : undefined;
  }

  #anyPlace(rng: Rng): number {
    const place = rng.integer(0, this.#scale.instances - 1);
    return place === this.#frozen ? (place + 1) % this.#scale.instances : place;
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
