import { onAbort } from '@millrace/async-utils';
import { type Clock, type Linked, toWorkError } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { TaskStatus, TaskView } from '../model.js';
import type { StreamEnd } from './stream-buffer.js';
import { TaskStream, type TaskStreamLimits } from './task-stream.js';

/** What the caller asked for. */
export interface TaskRequest<I> {
  /** The lane: tasks of one key run one after the other. */
  readonly key: string;
  /** What the handler gets. */
  readonly input: I;
  /** Cancels the task when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** A task that has not started by then fails with `DEADLINE_EXCEEDED`. */
  readonly deadline?: Date | undefined;
  /** What log lines about the task have besides its id and its key. */
  readonly logFields?: object | undefined;
}

/** How a task ended. */
export type TaskEnd<R> =
  | { readonly status: 'COMPLETED'; readonly value: R | undefined }
  | { readonly status: 'FAILED'; readonly error: unknown }
  | { readonly status: 'CANCELLED' };

/** A completed task: what it wrote and what its handler returned. */
export interface TaskResult<R> extends TaskView {
  readonly status: 'COMPLETED';
  /** All chunks, joined. */
  readonly text: string;
  /** The handler's return value; undefined when it returned nothing. */
  readonly value: R | undefined;
}

/**
 * One task. Its state goes the way that `TaskStatus` draws, and only the TaskManager that made it moves it; the first
 * end is final, whatever the handler does after a cancel.
 */
export class Task<I, R> implements Linked<Task<I, R>> {
  previous: Task<I, R> | undefined;
  next: Task<I, R> | undefined;
  readonly id: string;
  readonly key: string;
  readonly deadline: Date | undefined;
  readonly logFields: object | undefined;
  readonly stream: TaskStream;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #queuedAtMs: number;
  #input: I | undefined;
  #status: TaskStatus = 'QUEUED';
  #startedAtMs: number | undefined;
  #endedAtMs: number | undefined;
  #end: TaskEnd<R> | undefined;
  #forgetSignal: () => void = () => {};

  constructor(id: string, request: TaskRequest<I>, limits: TaskStreamLimits, clock: Clock) {
    this.id = id;
    this.key = request.key;
    this.deadline = request.deadline;
    this.logFields = request.logFields;
    this.#input = request.input;
    this.#clock = clock;
    this.#queuedAtMs = clock.now();
    this.stream = new TaskStream(id, limits, clock, () => {
      if (this.#status === 'RUNNING') this.#status = 'STREAMING';
    });
  }

  get status(): TaskStatus {
    return this.#status;
  }

  /** Aborts when the task is cancelled. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether its deadline has passed. */
  get late(): boolean {
    return this.deadline !== undefined && this.#clock.now() >= this.deadline.getTime();
  }

  /**
   * Calls `cancel` when the caller's signal aborts, until the task has ended.
   * @param signal - the caller's.
   */
  follow(signal: AbortSignal, cancel: () => void): void {
    this.#forgetSignal = onAbort(signal, cancel);
  }

  /** QUEUED → RUNNING; gives the input, which is kept no longer than it is needed. */
  start(): I {
    this.#status = 'RUNNING';
    this.#startedAtMs = this.#clock.now();
    this.stream.begin();
    return this.#input as I;
  }

  /**
   * Ends the task and its stream, once.
   * @returns false when it had already ended.
   */
  end(end: TaskEnd<R>): boolean {
    if (this.#end) return false;
    this.#end = end;
    this.#status = end.status;
    this.#endedAtMs = this.#clock.now();
    this.#input = undefined;
    this.#forgetSignal();
    this.stream.end(streamEnd(this.id, end));
    if (end.status === 'CANCELLED') this.#abort.abort(ERRORS.create('TASK_CANCELLED', { task: this.id }));
    return true;
  }

  /** A snapshot for callers; a Date can be changed, so each gets its own. */
  view(): TaskView {
    return Object.freeze({
      id: this.id,
      key: this.key,
      status: this.#status,
      queuedAt: new Date(this.#queuedAtMs),
      ...(this.#startedAtMs !== undefined && { startedAt: new Date(this.#startedAtMs) }),
      ...(this.#endedAtMs !== undefined && { endedAt: new Date(this.#endedAtMs) }),
    });
  }

  /**
   * What came of it.
   * @throws MillraceError `TASK_PENDING`, `TASK_FAILED` (its `cause` is what the handler threw), `TASK_CANCELLED`.
   */
  result(): TaskResult<R> {
    const { id: task } = this;
    const end = this.#end;
    if (!end) throw ERRORS.create('TASK_PENDING', { task, status: this.#status });
    if (end.status === 'CANCELLED') throw ERRORS.create('TASK_CANCELLED', { task });
    if (end.status === 'FAILED') {
      const { message: reason } = toWorkError(end.error);
      throw ERRORS.create('TASK_FAILED', { task, reason }, { cause: end.error });
    }
    return Object.freeze({
      ...this.view(),
      status: end.status,
      text: this.stream.text,
      value: end.value,
    });
  }
}

function streamEnd<R>(task: string, end: TaskEnd<R>): StreamEnd {
  if (end.status === 'COMPLETED') return { type: 'done' };
  const error = end.status === 'FAILED' ? end.error : ERRORS.create('TASK_CANCELLED', { task });
  const { code, message } = toWorkError(error);
  return { type: 'error', code, message };
}
