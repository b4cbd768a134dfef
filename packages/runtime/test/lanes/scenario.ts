import { type Rng, seededRng, sleep } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { expect } from 'vitest';
import type { TaskContext, TaskHandler } from '../../src/lanes/run-handler.js';
import { TaskManager } from '../../src/lanes/task-manager.js';
import type { StreamEvent, TaskStatus } from '../../src/model.js';
import { collect, shownText } from './tools.js';

/** What one task's handler does. */
interface Script {
  readonly name: number;
  readonly chunks: readonly string[];
  readonly pauseMs: number;
  readonly style: 'yields' | 'emits' | 'emits without waiting' | 'returns';
  readonly throws: boolean;
  /** Goes on after a cancel until it writes or ends. */
  readonly deaf: boolean;
}

interface Accepted {
  readonly id: string;
  readonly key: string;
  readonly script: Script;
  status: TaskStatus;
}

interface Reading {
  readonly task: Accepted;
  readonly fromOffset: number;
  readonly iterator: AsyncIterableIterator<StreamEvent, undefined>;
  readonly control: AbortController;
  readonly events: StreamEvent[];
  /** Left or aborted by the test: it may end without a last event. */
  left: boolean;
  over: boolean;
}

/** Which states may be seen after which, between two looks; anything else is a broken machine. */
const LATER: Record<TaskStatus, readonly TaskStatus[]> = {
  QUEUED: ['QUEUED', 'RUNNING', 'STREAMING', 'COMPLETED', 'FAILED', 'CANCELLED'],
  RUNNING: ['RUNNING', 'STREAMING', 'COMPLETED', 'FAILED', 'CANCELLED'],
  STREAMING: ['STREAMING', 'COMPLETED', 'FAILED', 'CANCELLED'],
  COMPLETED: ['COMPLETED'],
  FAILED: ['FAILED'],
  CANCELLED: ['CANCELLED'],
};
const TERMINAL: readonly TaskStatus[] = ['COMPLETED', 'FAILED', 'CANCELLED'];
const KEYS = ['a', 'b', 'c'];

/** One random life of a TaskManager with its callers and readers; every rule is checked on the way. */
export class Scenario {
  readonly #rng: Rng;
  readonly #clock = new ManualClock();
  readonly #maxWorkers: number;
  readonly #tasks: TaskManager<Script, unknown>;
  readonly #accepted: Accepted[] = [];
  readonly #readings: Reading[] = [];
  readonly #running = new Map<string, number>();
  readonly #started = new Map<string, number[]>();
  readonly #broken: string[] = [];
  /** What happened, so that the test can tell whether it saw anything. */
  readonly seen = { refused: 0, parallel: 0, cancelled: 0, failed: 0, completed: 0, snapshots: 0, left: 0 };

  constructor(seed: number) {
    this.#rng = seededRng(seed);
    this.#maxWorkers = this.#rng.integer(1, 4);
    const config = {
      maxWorkers: this.#maxWorkers,
      queueMaxSize: this.#rng.pick([0, 2, 5]),
      streamMaxChunks: this.#rng.pick([0, 1, 2, 3]),
      streamStallMs: 100,
    };
    const dependencies = { clock: this.#clock, rng: this.#rng.fork('ids') };
    this.#tasks = new TaskManager<Script, unknown>(this.#handler, config, dependencies);
  }

  async run(): Promise<void> {
    await this.#tasks.start();
    for (let step = 0; step < 40; step++) {
      await this.#step();
      await this.#clock.advance(this.#rng.pick([0, 0, 3, 20, 120]));
      this.#look();
    }
    // Nobody reads any more: whatever held a producer back is stalled soon, and all must end.
    for (let second = 0; second < 20 && this.#tasks.stats.lanes > 0; second++)
      await this.#clock.advance(1000);
    this.#look();
    await this.#checkEnd();
    const stopped = this.#tasks.stop();
    await this.#clock.advance(0);
    await stopped;
    expect(this.#clock.pendingTimers).toBe(0);
  }

  async #step(): Promise<void> {
    const task = this.#accepted.length > 0 ? this.#rng.pick(this.#accepted) : undefined;
    const reading = this.#readings.length > 0 ? this.#rng.pick(this.#readings) : undefined;
    const draw = this.#rng.next();
    if (draw < 0.35 || !task) await this.#enqueue();
    else if (draw < 0.45) this.#tasks.cancel(this.#openOr(task).id);
    else if (draw < 0.6 || !reading) this.#attach(this.#openOr(task));
    else if (draw < 0.9) for (let n = this.#rng.integer(1, 4); n > 0; n--) this.#read(reading);
    else this.#leave(reading);
  }

  async #enqueue(): Promise<void> {
    const rng = this.#rng;
    const script: Script = {
      name: this.#accepted.length,
      chunks: Array.from({ length: rng.integer(0, 6) }, (_, n) => `${this.#accepted.length}.${n} `),
      pauseMs: rng.pick([0, 0, 5, 30]),
      style: rng.pick(['yields', 'emits', 'emits without waiting', 'returns']),
      throws: rng.chance(0.2),
      deaf: rng.chance(0.3),
    };
    const key = rng.pick(KEYS);
    const before = this.#tasks.stats;
    try {
      const { id, status } = await this.#tasks.enqueue({ key, input: script });
      this.#accepted.push({ id, key, script, status });
    } catch (error) {
      expect(error).toMatchObject({ code: 'QUEUE_FULL' });
      expect(this.#tasks.stats).toEqual(before);
      this.seen.refused++;
    }
  }

  /** Mostly a task that has not ended, if there is any: the others have little left to break. */
  #openOr(any: Accepted): Accepted {
    const open = this.#accepted.filter(({ status }) => !TERMINAL.includes(status));
    return open.length > 0 && this.#rng.chance(0.8) ? this.#rng.pick(open) : any;
  }

  #attach(task: Accepted): void {
    const fromOffset = this.#rng.pick([0, 0, 0, 1, 3, 9]);
    const control = new AbortController();
    const iterator = this.#tasks.stream(task.id, { fromOffset, signal: control.signal });
    const reading = { task, fromOffset, iterator, control, events: [], left: false, over: false };
    this.#readings.push(reading);
    if (this.#rng.chance(0.7)) this.#read(reading);
  }

  /** Asks and does not wait: the answer may take until somebody else has done something. */
  #read(reading: Reading): void {
    void reading.iterator.next().then(
      ({ done, value }) => {
        if (done) reading.over = true;
        else reading.events.push(value);
      },
      (error) => {
        if (error.code !== 'ABORTED') this.#broken.push(`a read failed with ${error}`);
        reading.over = true;
      },
    );
  }

  #leave(reading: Reading): void {
    reading.left = true;
    this.seen.left++;
    if (this.#rng.chance(0.5)) void reading.iterator.return?.();
    else reading.control.abort();
  }

  /** The states of all tasks only ever move on. */
  #look(): void {
    for (const task of this.#accepted) {
      const { status } = this.#tasks.status(task.id);
      expect(LATER[task.status]).toContain(status);
      task.status = status;
    }
  }

  readonly #handler: TaskHandler<Script, unknown> = (script, context) => {
    const { key } = this.#accepted.find(({ id }) => id === context.idempotencyKey) ?? { key: '?' };
    // The rule of lanes, at the only place that knows what really runs. Noted, since a throw would only fail the task.
    if (this.#running.has(key)) this.#broken.push(`${script.name} began while ${this.#running.get(key)} ran`);
    this.#running.set(key, script.name);
    this.#started.set(key, [...(this.#started.get(key) ?? []), script.name]);
    if (this.#running.size > this.#maxWorkers) this.#broken.push(`${this.#running.size} tasks ran at once`);
    if (this.#running.size > 1) this.seen.parallel++;
    const ended = () => this.#running.delete(key);
    return script.style === 'yields'
      ? this.#yielding(script, context, ended)
      : this.#emitting(script, context).finally(ended);
  };

  async *#yielding(script: Script, context: TaskContext, ended: () => void) {
    try {
      for (const chunk of script.chunks) {
        await this.#pause(script, context);
        yield chunk;
      }
      await this.#pause(script, context);
      if (script.throws) throw new Error('told to');
      return script.name;
    } finally {
      ended();
    }
  }

  async #emitting(script: Script, context: TaskContext): Promise<unknown> {
    await this.#pause(script, context);
    if (script.style !== 'returns') {
      for (const chunk of script.chunks) {
        const written = context.emit(chunk);
        if (script.style === 'emits') await written;
        await this.#pause(script, context);
      }
    }
    if (script.throws) throw new Error('told to');
    return script.style === 'returns' ? script.chunks.join('') : script.name;
  }

  async #pause({ pauseMs, deaf }: Script, { signal }: TaskContext): Promise<void> {
    const slept = pauseMs === 0 || (await sleep(this.#clock, pauseMs, deaf ? undefined : signal));
    if (!slept) throw new Error('it noticed');
  }

  async #checkEnd(): Promise<void> {
    expect(this.#broken).toEqual([]);
    const stored = this.#accepted.length;
    expect(this.#tasks.stats).toEqual({ queued: 0, active: 0, stored, lanes: 0 });
    for (const names of this.#started.values()) expect(names).toEqual([...names].sort((a, b) => a - b));
    for (const task of this.#accepted) await this.#checkTask(task);
    for (const reading of this.#readings) await this.#checkReading(reading);
  }

  async #checkTask(task: Accepted): Promise<void> {
    expect(TERMINAL).toContain(task.status);
    this.seen[task.status.toLowerCase() as 'completed' | 'failed' | 'cancelled']++;
    const events = await collect(this.#tasks.stream(task.id));
    checkEvents(task, 0, events, true);
    if (task.status !== 'COMPLETED') return;
    const result = this.#tasks.result(task.id);
    expect(result.text).toBe(task.script.chunks.join(''));
    expect(shownText(events)).toBe(result.text);
  }

  async #checkReading(reading: Reading): Promise<void> {
    const { task, fromOffset, events, iterator, left, over } = reading;
    if (!left && !over) events.push(...(await collect(iterator)));
    checkEvents(task, fromOffset, events, !left);
    this.seen.snapshots += events.filter((event) => event.type === 'token' && event.snapshot).length;
  }
}

/** Start, tokens in order, one end; text and offsets fit what the handler wrote, at every event. */
function checkEvents(
  { status, script }: Accepted,
  fromOffset: number,
  events: readonly StreamEvent[],
  complete: boolean,
): void {
  const chunks = script.style === 'returns' ? [script.chunks.join('')].filter(Boolean) : script.chunks;
  const through = (offset: number) => chunks.slice(0, offset).join('');
  let shown = through(Math.max(0, fromOffset - 1));
  let expected = fromOffset;
  for (const [index, event] of events.entries()) {
    const isLast = event.type === 'done' || event.type === 'error';
    if (isLast) expect(index).toBe(events.length - 1);
    if (event.type === 'token' && event.snapshot) expect(event.offset).toBeGreaterThanOrEqual(expected);
    else expect(event.offset).toBe(expected);
    expect(event.type === 'start').toBe(event.offset === 0);
    expected = event.offset + 1;
    if (event.type !== 'token') continue;
    shown = event.snapshot ? event.text : shown + event.text;
    expect(shown).toBe(through(event.offset));
  }
  const last = events.at(-1);
  if (last?.type === 'done') expect(status).toBe('COMPLETED');
  if (last?.type === 'error') expect(last.code === 'TASK_CANCELLED').toBe(status === 'CANCELLED');
  // Whoever began after the end, or left, has no last event.
  if (complete && events.length > 0) expect(['done', 'error']).toContain(last?.type);
}
