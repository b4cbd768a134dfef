import type { CancelTimer, Clock } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { StreamBuffer, type StreamEnd } from './stream-buffer.js';
import { type ReaderSource, StreamReader } from './stream-reader.js';

/** The limits of one stream. */
export interface TaskStreamLimits {
  /** Tokens kept one by one; 0 = all. */
  readonly streamMaxChunks: number;
  /** How long a reader may hold the producer back without reading. */
  readonly streamStallMs: number;
  /** Length of the whole text; 0 = any. */
  readonly textCharactersMax: number;
}

/**
 * The stream of one task: one producer, any number of readers.
 *
 * The producer waits only for a reader that is attached, has not taken the token that the next one would push out,
 * and has read something within `streamStallMs`. A reader that stays behind longer is dropped from the ones that
 * count until it reads again; it then finds a snapshot.
 */
export class TaskStream implements ReaderSource {
  readonly #task: string;
  readonly #limits: TaskStreamLimits;
  readonly #clock: Clock;
  readonly #onText: () => void;
  readonly #buffer: StreamBuffer;
  /** The attached readers, and when each last read: the ones that are told of news and that the producer respects. */
  readonly #readers = new Map<StreamReader, number>();
  #writesPending = 0;
  #charactersPending = 0;
  #lastWrite: Promise<void> = Promise.resolve();
  #wakeProducer: (() => void) | undefined;

  /** @param onText - called before the first token becomes readable. */
  constructor(task: string, limits: TaskStreamLimits, clock: Clock, onText: () => void) {
    this.#task = task;
    this.#limits = limits;
    this.#clock = clock;
    this.#onText = onText;
    this.#buffer = new StreamBuffer(limits.streamMaxChunks);
  }

  /** Everything written so far. */
  get text(): string {
    return this.#buffer.text;
  }

  /** Whether anything was written. */
  get hasText(): boolean {
    return this.#buffer.characters > 0;
  }

  /** Makes `start` readable. */
  begin(): void {
    this.#buffer.begin();
    this.#wakeReaders();
  }

  /**
   * Appends a token; the promise resolves when it is in the stream. Writes keep their order, awaited or not.
   * @param text - an empty one is no event.
   * @throws TypeError when it is no string; MillraceError `TASK_CANCELLED` when the stream has ended,
   * `TASK_OUTPUT_TOO_LARGE` when the whole text would be longer than `textCharactersMax`.
   */
  write(text: string): Promise<void> {
    const written = this.#write(text);
    // A handler that does not await its writes must not bring the process down when it is cancelled.
    written.catch(() => {});
    return written;
  }

  /** Resolves when every write so far is in the stream or has been refused. */
  flushed(): Promise<void> {
    return this.#lastWrite;
  }

  /** Ends the stream; only the first end counts. Writes that still wait are refused. */
  end(end: StreamEnd): void {
    this.#buffer.end(end);
    this.#wakeReaders();
    this.#readers.clear();
    this.#wakeProducer?.();
  }

  /** A new reader; it counts from its first read on. */
  reader(fromOffset: number, signal?: AbortSignal): StreamReader {
    return new StreamReader(this, fromOffset, signal);
  }

  read(offset: number) {
    return this.#buffer.read(offset);
  }

  attach(reader: StreamReader): void {
    if (!this.#buffer.ended) this.#readers.set(reader, this.#clock.monotonicMs());
  }

  detach(reader: StreamReader): void {
    if (this.#readers.delete(reader)) this.#wakeProducer?.();
  }

  progressed(reader: StreamReader): void {
    if (!this.#readers.has(reader)) return;
    this.#readers.set(reader, this.#clock.monotonicMs());
    this.#wakeProducer?.();
  }

  async #write(text: string): Promise<void> {
    if (typeof text !== 'string') throw new TypeError(`a chunk must be a string, got ${typeof text}`);
    this.#refuseEnded();
    if (text === '') return;
    this.#refuseTooLong(text.length);
    if (this.#writesPending === 0 && this.#laggards().length === 0) {
      this.#append(text);
      return;
    }
    this.#writesPending++;
    this.#charactersPending += text.length;
    const turn = this.#lastWrite.then(() => this.#appendWhenRoom(text));
    this.#lastWrite = turn.catch(() => {});
    await turn;
  }

  async #appendWhenRoom(text: string): Promise<void> {
    try {
      while (!this.#buffer.ended) {
        const laggards = this.#laggards();
        if (laggards.length === 0) break;
        await this.#readOrStall(laggards);
      }
      this.#refuseEnded();
      this.#append(text);
    } finally {
      this.#writesPending--;
      this.#charactersPending -= text.length;
    }
  }

  /** Waits until a laggard reads or leaves; drops those that have stalled for too long. */
  async #readOrStall(laggards: readonly StreamReader[]): Promise<void> {
    const oldestRead = Math.min(...laggards.map((reader) => this.#readers.get(reader) ?? 0));
    const leftMs = oldestRead + this.#limits.streamStallMs - this.#clock.monotonicMs();
    if (leftMs > 0) {
      let cancelTimer: CancelTimer | undefined;
      await new Promise<void>((resolve) => {
        this.#wakeProducer = resolve;
        cancelTimer = this.#clock.setTimer(leftMs, resolve, { unref: true });
      });
      this.#wakeProducer = undefined;
      cancelTimer?.();
      return;
    }
    for (const reader of laggards) {
      if (this.#readers.get(reader) === oldestRead) this.#readers.delete(reader);
    }
  }

  /** Readers that would lose a token by the next append; one that is further behind gets a snapshot in any case. */
  #laggards(): StreamReader[] {
    if (!this.#buffer.full) return [];
    const oldest = this.#buffer.oldestOffset;
    return [...this.#readers.keys()].filter(({ cursor }) => cursor === oldest);
  }

  #append(text: string): void {
    if (!this.hasText) this.#onText();
    this.#buffer.append(text);
    this.#wakeReaders();
  }

  #wakeReaders(): void {
    for (const reader of [...this.#readers.keys()]) reader.wake();
  }

  #refuseEnded(): void {
    if (this.#buffer.ended) throw ERRORS.create('TASK_CANCELLED', { task: this.#task });
  }

  #refuseTooLong(characters: number): void {
    const max = this.#limits.textCharactersMax;
    if (max > 0 && this.#buffer.characters + this.#charactersPending + characters > max) {
      throw ERRORS.create('TASK_OUTPUT_TOO_LARGE', { task: this.#task, max });
    }
  }
}
