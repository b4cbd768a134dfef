import { wait } from '@millrace/async-utils';
import type { Rng } from '@millrace/foundation';
import { readLedger } from '@millrace/testkit/ledger';
import type { ServerRole, ServerScale } from './settings.js';
import type { ServerPlace, ServerWorld } from './world.js';

/** How long a reply that is to be lost, and a worker that is to be killed at work, is waited for. */
const PATIENCE_MS = 2000;
const LOOK_EVERY_MS = 20;

/** Kills one process at a time, and loses replies. */
export class ServerFaults {
  /** Kills by process, and lost replies. */
  readonly kills = new Map<string, number>();
  lostReplies = 0;
  readonly #world: ServerWorld;
  readonly #rng: Rng;
  readonly #scale: ServerScale;

  /**
   * @param rng - who and when.
   * @param scale - how often.
   */
  constructor(world: ServerWorld, rng: Rng, scale: ServerScale) {
    this.#world = world;
    this.#rng = rng;
    this.#scale = scale;
  }

  /**
   * Strikes while campaigns come, and until enough processes were killed; the roles take turns. Resolves when everybody is there again.
   */
  async strike(): Promise<void> {
    let isOver = false;
    const losing = this.#loseReplies(() => isOver);
    const until = performance.now() + this.#scale.arrivalMs;
    const victims = this.#inTurns();
    for (let n = 0; performance.now() < until || this.kills.size < this.#scale.victimsMin; n++) {
      await wait(this.#scale.killEveryMs);
      const victim = victims[n % victims.length] as ServerPlace;
      if (victim.role === 'worker') await this.#untilBusy(victim);
      await this.#kill(victim);
    }
    isOver = true;
    await losing;
  }

  /** A worker, an API, the other worker, the other API. */
  #inTurns(): ServerPlace[] {
    const of = (role: ServerRole) =>
      this.#rng.shuffle(this.#world.places.filter((place) => place.role === role));
    const apis = of('api');
    return of('worker').flatMap((worker, n) => [worker, ...apis.slice(n, n + 1)]);
  }

  /** Until it sends mails, if it does soon: who does nothing loses nothing. */
  async #untilBusy({ crew }: ServerPlace): Promise<void> {
    for (
      const until = performance.now() + PATIENCE_MS;
      performance.now() < until;
      await wait(LOOK_EVERY_MS)
    ) {
      const busy = busyProcesses(this.#world.ledgerPath);
      if (crew.pids.some((pid) => busy.has(pid))) return;
    }
  }

  async #kill({ name, crew }: ServerPlace): Promise<void> {
    await crew.kill(0);
    this.kills.set(name, (this.kills.get(name) ?? 0) + 1);
    await crew.everyoneUp();
  }

  /** Of the server to its callers and of the stores to the server, in turn: what was asked is done, and nobody hears of it. */
  async #loseReplies(isOver: () => boolean): Promise<void> {
    const rng = this.#rng.fork('replies');
    const { doors, wires } = this.#world;
    while (!isOver()) {
      await wait(this.#scale.loseReplyEveryMs);
      let isWanted = true;
      const lost = rng
        .pick([...doors, ...wires])
        .cutAfterRequest(() => isWanted)
        .then(
          () => true,
          () => false, // Whoever was to hear it was gone before.
        );
      if (await Promise.race([lost, wait(PATIENCE_MS, { value: false })])) this.lostReplies++;
      isWanted = false;
    }
  }
}

/** Processes with a mail that has begun and not ended. */
function busyProcesses(ledgerPath: string): ReadonlySet<number> {
  const sending = new Map<string, number>();
  for (const { kind, mail, pid } of readLedger(ledgerPath)) {
    if (kind === 'mailing') sending.set(String(mail), pid);
    else if (mail !== undefined) sending.delete(String(mail));
  }
  return new Set(sending.values());
}
