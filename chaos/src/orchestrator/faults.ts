import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { readLedger } from '@millrace/testkit/ledger';
import { asking, type RestartKind, restartPostgres } from '../postgres.js';
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
/** So long it is waited for somebody who takes over what a frozen instance ran. */
const FROZEN_LEASES_MAX = 3;
/** Each look reads the whole ledger. */
const LOOK_EVERY_MS = 40;

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

/** Waits so long, at most until the faults are over. @returns whether they are not. */
type Pause = (ms: number) => Promise<boolean>;

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
   * @param rng - where and when.
   * @param scale - how often.
   */
  constructor(world: OrchestratorWorld, rng: Rng, scale: OrchestratorScale) {
    this.#world = world;
    this.#rng = rng;
    this.#scale = scale;
  }

  /** Strikes until then; resolves when PostgreSQL runs and nobody is frozen. */
  async strike(untilAt: number): Promise<void> {
    const leftMs = () => Math.max(0, untilAt - Date.now());
    const pause = async (ms: number) => {
      await wait(Math.min(ms, leftMs()));
      return leftMs() > 0;
    };
    await Promise.all([
      this.#kill(pause),
      this.#dismiss(pause),
      this.#terminate(pause),
      this.#loseReplies(pause),
      this.#shake(pause),
    ]);
    this.#world.endFaults();
  }

  async #kill(pause: Pause): Promise<void> {
    const rng = this.#rng.fork('kill');
    while (await pause(this.#scale.killEveryMs)) {
      await this.#world.instances.kill(this.#anyPlace(rng));
      this.tally.kills += 1;
    }
  }

  /** Ends one as a deploy would: what it cannot end in its grace period it gives back. */
  async #dismiss(pause: Pause): Promise<void> {
    const rng = this.#rng.fork('dismiss');
    while (await pause(this.#scale.dismissEveryMs)) {
      await this.#world.instances.dismiss(this.#anyPlace(rng));
      this.tally.dismissals += 1;
    }
  }

  async #terminate(pause: Pause): Promise<void> {
    const rng = this.#rng.fork('terminate');
    while (await pause(this.#scale.terminateEveryMs)) {
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
  async #loseReplies(pause: Pause): Promise<void> {
    for (let strikes = 0; await pause(this.#scale.loseReplyEveryMs); strikes++) {
      const words = LOST_REPLIES[strikes % LOST_REPLIES.length] as RegExp;
      let isWanted = true;
      const lost = this.#world.proxy.cutAfterRequest(
        (chunk) => isWanted && words.test(chunk.toString('latin1')),
      );
      const isLost = lost.then(
        () => true,
        () => false, // PostgreSQL or the process was gone before.
      );
      const patience = pause(this.#scale.timing.leaseMs).then(() => false);
      if (await Promise.race([isLost, patience])) this.tally.lostReplies += 1;
      isWanted = false;
    }
  }

  /** Restarts of PostgreSQL, of each kind at least one, and before each pair an instance that is frozen. */
  async #shake(pause: Pause): Promise<void> {
    const rng = this.#rng.fork('shake');
    for (let round = 0; round === 0 || (await pause(0)); round++) {
      await this.#freeze();
      for (const kind of rng.shuffle(['fast', 'immediate'] as const)) {
        const isOn = await pause(rng.integer(...this.#scale.restartEveryMs));
        if (isOn || round === 0) await this.#restart(kind, rng);
      }
    }
  }

  async #restart(kind: RestartKind, rng: Rng): Promise<void> {
    await restartPostgres(this.#world.postgres, kind, this.#scale.awayMaxMs, rng);
    this.tally[kind === 'fast' ? 'fastRestarts' : 'immediateRestarts'] += 1;
  }

  /**
   * Freezes an instance with work under way until another one has begun to do that again. When it wakes, it ends its own run of it at once, while the
   * other one still runs: only the fence keeps it from recording what it did.
   */
  async #freeze(): Promise<void> {
    const { instances } = this.#world;
    for (
      const until = performance.now() + FREEZE_WITHIN_MS;
      performance.now() < until;
      await wait(LOOK_EVERY_MS)
    ) {
      const place = this.#busiest();
      if (place === undefined) continue;
      this.#frozen = place;
      instances.pause(place);
      // What it ran may have ended in the last moment.
      const operations = runningIn(this.#world.ledgerPath).get(instances.pids[place] ?? 0);
      if (operations) await this.#takenOver(operations);
      instances.wake(place);
      this.#frozen = undefined;
      if (!operations) continue;
      this.tally.freezes += 1;
      return;
    }
  }

  /** Waits until one of these runs somewhere else, too. */
  async #takenOver(operations: ReadonlySet<string>): Promise<void> {
    const until = performance.now() + FROZEN_LEASES_MAX * this.#scale.timing.leaseMs;
    for (; performance.now() < until; await wait(LOOK_EVERY_MS)) {
      const running = [...runningIn(this.#world.ledgerPath).values()];
      if ([...operations].some((operation) => running.filter((own) => own.has(operation)).length > 1)) return;
    }
  }

  /** The instance that runs most, if one runs something. */
  #busiest(): number | undefined {
    const { instances, ledgerPath } = this.#world;
    const running = runningIn(ledgerPath);
    const counts = instances.pids.map((pid) => running.get(pid)?.size ?? 0);
    const most = Math.max(...counts);
    return most > 0 ? counts.indexOf(most) : undefined;
  }

  #anyPlace(rng: Rng): number {
    const place = rng.integer(0, this.#scale.instances - 1);
    return place === this.#frozen ? (place + 1) % this.#scale.instances : place;
  }
}

/** Operations of runs that have begun and not ended, by process. */
function runningIn(ledgerPath: string): Map<number, Set<string>> {
  const running = new Map<string, { readonly pid: number; readonly op: string }>();
  for (const { kind, run, op, pid } of readLedger(ledgerPath)) {
    if (kind === 'began') running.set(String(run), { pid, op: String(op) });
    if (kind === 'ended') running.delete(String(run));
  }
  const operations = new Map<number, Set<string>>();
  for (const { pid, op } of running.values()) operations.set(pid, (operations.get(pid) ?? new Set()).add(op));
  return operations;
}
