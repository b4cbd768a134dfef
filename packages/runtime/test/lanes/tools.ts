import { seededRng } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { onTestFinished } from 'vitest';
import type { TaskManagerConfig } from '../../src/lanes/options.js';
import type { TaskHandler } from '../../src/lanes/run-handler.js';
import { TaskManager } from '../../src/lanes/task-manager.js';
import type { StreamEvent } from '../../src/model.js';

/** A started manager on a clock that stands still; stopped when the test ends. */
export async function startManager<I, R>(handler: TaskHandler<I, R>, config: TaskManagerConfig = {}) {
  const clock = new ManualClock();
  const tasks = new TaskManager<I, R>(handler, { maxWorkers: 4, ...config }, { clock, rng: seededRng(1) });
  await tasks.start();
  onTestFinished(async () => {
    const stopped = tasks.stop();
    await clock.advance(60_000);
    await stopped;
  });
  return { tasks, clock, settle: () => clock.advance(0) };
}

/** A handler's life in the test's hands: it starts, and ends when told. */
export class Steps {
  readonly started: string[] = [];
  readonly ended: string[] = [];
  readonly #endings = new Map<string, (error?: unknown) => void>();

  /** Runs until `finish`, whatever its signal says. */
  run(name: string): Promise<void> {
    this.started.push(name);
    return new Promise((resolve, reject) => {
      this.#endings.set(name, (error) => {
        this.ended.push(name);
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  finish(name: string, error?: unknown): void {
    const end = this.#endings.get(name);
    if (!end) throw new Error(`${name} has not started`);
    this.#endings.delete(name);
    end(error);
  }
}

/** All events that a stream still gives. */
export async function collect(stream: AsyncIterable<StreamEvent>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Events in short: `0:start 1:a 3*:abc 4:done 4!TASK_CANCELLED`; a star marks a snapshot. */
export const brief = (events: readonly StreamEvent[]): string =>
  events
    .map((event) => {
      if (event.type === 'token') return `${event.offset}${event.snapshot ? '*' : ''}:${event.text}`;
      return event.type === 'error' ? `${event.offset}!${event.code}` : `${event.offset}:${event.type}`;
    })
    .join(' ');

/** The text a client shows: a snapshot stands for everything before it. */
export function shownText(events: readonly StreamEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'token') text = event.snapshot ? event.text : text + event.text;
  }
  return text;
}

/** What an async call threw. */
export async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('expected a throw, nothing was thrown');
}
