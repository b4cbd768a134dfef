import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wait } from '@millrace/async-utils';
import { backoffMs, type Rng } from '@millrace/foundation';
import type { DoorAnswer, SubmitBody } from './door.js';
import type { Metronome } from './metronome.js';
import { DOMAIN, type Plan, type PlannedCommand } from './plan.js';
import { OPERATIONS_PATH } from './settings.js';
import type { OrchestratorWorld } from './world.js';

/** An answer of an instance that is none of an error. */
interface Answered {
  readonly status: number;
  readonly body: DoorAnswer;
}

/** From one try to the next, longer each time: many wait while PostgreSQL is away. */
const AGAIN_MS = 100;
const AGAIN_MAX_MS = 800;
/** Longer than every wait that an instance allows. */
const CALL_TIMEOUT_MS = 15_000;

/**
 * Those who send the commands: each to any instance, with the same key again and again until one answers; then they follow the operation until it has
 * ended. The ledger is told of every answer.
 */
export class Callers {
  readonly #world: OrchestratorWorld;
  readonly #plan: Plan;
  readonly #rng: Rng;
  readonly #over = new AbortController();
  readonly #metronome: Metronome;
  /** Operations that were answered with a status URL, by key. */
  readonly #followed = new Map<string, Promise<void>>();

  /** @param world - who is called. */
  constructor(world: OrchestratorWorld, plan: Plan, rng: Rng, metronome: Metronome) {
    this.#world = world;
    this.#plan = plan;
    this.#rng = rng;
    this.#metronome = metronome;
  }

  /** Sends everything when it is due; resolves when all has ended, or `giveUp` was called. */
  async run(): Promise<void> {
    await Promise.all(this.#plan.commands.map((command) => this.#attend(command)));
    await Promise.all(this.#followed.values());
  }

  /** Ends all waiting: the time is over. */
  giveUp(): void {
    this.#over.abort();
  }

  async #attend(command: PlannedCommand): Promise<void> {
    await wait(Math.max(0, this.#world.beginsAt + command.dueMs - Date.now()));
    const calls = Array.from({ length: command.callers }, () => this.#submit(command));
    const cancelled = Promise.race(calls).then((opId) => this.#mayCancel(command, opId));
    await Promise.all([...calls, cancelled]);
  }

  /** Submits until it is answered; an operation that goes on is followed to its end. */
  async #submit(command: PlannedCommand): Promise<string | undefined> {
    const { key, event, budgetMs, payload } = command;
    const body: SubmitBody = {
      command: { domain: DOMAIN, eventType: event, bizKey: key, idemKey: key, payload },
      timeBudgetMs: budgetMs,
    };
    const answer = await this.#until(command, OPERATIONS_PATH, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    if (!answer) return undefined;
    const { status } = answer;
    const { opId, outcome, statusUrl } = answer.body;
    this.#note('answered', command, { op: opId, status, outcome });
    if (status === 202 && !this.#followed.has(key))
      this.#followed.set(key, this.#follow(command, String(statusUrl)));
    return opId;
  }

  /** Every answer that it gets at the status URL must be of this operation, whoever gives it. */
  async #follow(command: PlannedCommand, statusUrl: string): Promise<void> {
    for (;;) {
      const answer = await this.#until(command, statusUrl, { method: 'GET' });
      if (!answer) return;
      const { opId, state, outcome } = answer.body;
      this.#note('looked', command, { op: opId, status: answer.status, state, outcome });
      if (outcome !== undefined) return;
      await wait(AGAIN_MS);
    }
  }

  async #mayCancel(command: PlannedCommand, opId: string | undefined): Promise<void> {
    if (command.cancelAfterMs === undefined || opId === undefined) return;
    await wait(command.cancelAfterMs);
    const answer = await this.#until(command, `${OPERATIONS_PATH}/${opId}`, { method: 'DELETE' });
    if (answer) this.#note('cancel-answered', command, { op: opId, outcome: answer.body.outcome });
  }

  /** Asks any instance, then another one, until it is answered otherwise than with "later". */
  async #until(command: PlannedCommand, path: string, init: RequestInit): Promise<Answered | undefined> {
    for (let tries = 0; !this.#over.signal.aborted; tries++) {
      const door = this.#door();
      const from = performance.now();
      try {
        if (!door) throw new Error('nobody is there');
        const response = await fetch(`http://127.0.0.1:${door.port}${path}`, {
          ...init,
          signal: AbortSignal.any([this.#over.signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
        });
        const body = (await response.json()) as DoorAnswer;
        const tookMs = Math.round(performance.now() - from);
        const keptUp = this.#metronome.keptUpSince(from);
        if (init.method === 'POST') this.#note('waited', command, { instance: door.pid, tookMs, keptUp });
        if (response.ok) return { status: response.status, body };
        const { code, message } = body;
        this.#note('refused', command, { method: init.method, status: response.status, code, message });
      } catch (error) {
        if (this.#over.signal.aborted) return undefined;
        const cause = (error as { cause?: { code?: unknown } }).cause?.code;
        this.#note('cut', command, { method: init.method, error: String(cause ?? error).slice(0, 200) });
      }
      const pause = { attempt: tries + 1, baseMs: AGAIN_MS, maxMs: AGAIN_MAX_MS };
      await wait(backoffMs({ strategy: 'exponential', ...pause }));
    }
    return undefined;
  }

  /** Where an instance is called that is there, or was a moment ago. */
  #door(): { readonly pid: number; readonly port: number } | undefined {
    const { instances, doors } = this.#world;
    for (const pid of this.#rng.shuffle(instances.pids)) {
      try {
        return { pid, port: Number(readFileSync(join(doors, `${pid}`), 'utf8')) };
      } catch {
        // It is starting.
      }
    }
    return undefined;
  }

  #note(kind: string, { key }: PlannedCommand, fields: object): void {
    this.#world.ledger.append({ kind, key, ...fields });
  }
}
