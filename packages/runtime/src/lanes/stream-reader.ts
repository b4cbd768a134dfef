import { onAbort } from '@millrace/async-utils';
import { abortError } from '../errors.js';
import type { StreamEvent } from '../model.js';
import type { ReadStep } from './stream-buffer.js';

/** What a reader needs of its stream. */
export interface ReaderSource {
  read(offset: number): ReadStep;
  /** The reader is there: it is told of news, and holds the producer back while it is behind. */
  attach(reader: StreamReader): void;
  /** The reader has left for good. */
  detach(reader: StreamReader): void;
  /** The reader has taken an event. */
  progressed(reader: StreamReader): void;
}

type Result = IteratorResult<StreamEvent, undefined>;

interface Waiter {
  resolve(result: Result): void;
  reject(error: unknown): void;
}

const OVER: Result = { done: true, value: undefined };

/**
 * One reader of a stream. Written by hand because an async generator that waits cannot be left: its `return()` only
 * runs once the next event has come.
 */
export class StreamReader implements AsyncIterableIterator<StreamEvent, undefined> {
  readonly #source: ReaderSource;
  readonly #signal: AbortSignal | undefined;
  readonly #waiters: Waiter[] = [];
  #cursor: number;
  #state: 'new' | 'reading' | 'closed' = 'new';
  /** What the next `next()` rejects with, once. */
  #failure: Error | undefined;
  #forgetSignal: () => void = () => {};

  constructor(source: ReaderSource, fromOffset: number, signal: AbortSignal | undefined) {
    this.#source = source;
    this.#cursor = fromOffset;
    this.#signal = signal;
  }

  /** The offset this reader wants next. */
  get cursor(): number {
    return this.#cursor;
  }

  /** The next event, or `done` after the last one. */
  next(): Promise<Result> {
    // Attached by the first read and not before: a stream that is asked for and never read holds nobody back.
    if (this.#state === 'new') this.#open();
    if (this.#failure) {
      const failure = this.#failure;
      this.#failure = undefined;
      return Promise.reject(failure);
    }
    if (this.#state === 'closed') return Promise.resolve(OVER);
    this.#source.attach(this);
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.wake();
    });
  }

  /** Leaves: pending reads end at once, the producer no longer waits for this reader. */
  return(): Promise<Result> {
    this.#close();
    return Promise.resolve(OVER);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Serves pending reads with what has come. */
  wake(): void {
    while (this.#waiters.length > 0) {
      const step = this.#source.read(this.#cursor);
      if (step === 'nothing yet') return;
      if (step === 'over') {
        this.#close();
        return;
      }
      this.#cursor = step.next;
      this.#waiters.shift()?.resolve({ done: false, value: step.event });
      // Nothing follows the end: leave now, many readers never ask for what comes after it.
      if (step.event.type === 'done' || step.event.type === 'error') this.#close();
      else this.#source.progressed(this);
    }
  }

  #open(): void {
    this.#state = 'reading';
    const signal = this.#signal;
    if (signal?.aborted) this.#fail(abortError(signal));
    else if (signal) this.#forgetSignal = onAbort(signal, () => this.#fail(abortError(signal)));
  }

  #fail(failure: Error): void {
    const waiter = this.#waiters.shift();
    if (waiter) waiter.reject(failure);
    else this.#failure = failure;
    this.#close();
  }

  #close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#forgetSignal();
    for (const { resolve } of this.#waiters.splice(0)) resolve(OVER);
    this.#source.detach(this);
  }
}
