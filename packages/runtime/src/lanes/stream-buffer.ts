import type { StreamEvent } from '../model.js';

/** How a stream ends. */
export type StreamEnd =
  | { readonly type: 'done' }
  | { readonly type: 'error'; readonly code: string; readonly message: string };

/** What a reader finds at its place: an event and where it goes on, nothing yet, or the end of everything. */
export type ReadStep = { readonly event: StreamEvent; readonly next: number } | 'nothing yet' | 'over';

/**
 * The events of one stream. The newest `maxChunks` tokens are kept one by one; older ones are folded into one text,
 * so a reader that needs one of them gets the whole text so far instead, as one snapshot.
 *
 * Offset 0 is `start`, tokens have 1, 2 …, and the end has the one after the last token.
 */
export class StreamBuffer {
  readonly #maxChunks: number;
  /** Token `offset` stands at `(offset - 1) % maxChunks`: the newest takes the place of the one that is folded. */
  readonly #chunks: string[] = [];
  #folded = '';
  #lastOffset = 0;
  #characters = 0;
  #begun = false;
  #end: StreamEnd | undefined;

  /** @param maxChunks - how many tokens to keep one by one; 0 = all. */
  constructor(maxChunks: number) {
    this.#maxChunks = maxChunks === 0 ? Number.POSITIVE_INFINITY : maxChunks;
  }

  /** Everything that was appended. */
  get text(): string {
    let text = this.#folded;
    for (let offset = this.oldestOffset; offset <= this.#lastOffset; offset++) text += this.#chunk(offset);
    return text;
  }

  /** The length of `text`, without building it. */
  get characters(): number {
    return this.#characters;
  }

  /** Whether the next `append` folds the oldest token that is kept. */
  get full(): boolean {
    return this.#lastOffset >= this.#maxChunks;
  }

  /** The oldest token that is still kept by itself: a reader that has not passed it loses it to the next fold. */
  get oldestOffset(): number {
    return this.full ? this.#lastOffset - this.#maxChunks + 1 : 1;
  }

  /** Whether it has ended. */
  get ended(): boolean {
    return this.#end !== undefined;
  }

  /** Makes `start` readable. */
  begin(): void {
    this.#begun = true;
  }

  /**
   * Appends a token, folding the oldest when full.
   * @param text - not empty.
   */
  append(text: string): void {
    if (this.full) this.#folded += this.#chunk(this.oldestOffset);
    this.#lastOffset++;
    this.#chunks[this.#slot(this.#lastOffset)] = text;
    this.#characters += text.length;
  }

  /** Ends the stream; only the first end counts. */
  end(end: StreamEnd): void {
    this.#begun = true;
    this.#end ??= end;
  }

  /**
   * What stands at an offset.
   * @param offset - the reader's place.
   */
  read(offset: number): ReadStep {
    if (!this.#begun) return 'nothing yet';
    if (offset === 0) return { event: { offset: 0, type: 'start' }, next: 1 };
    const last = this.#lastOffset;
    if (offset < this.oldestOffset) {
      return { event: { offset: last, type: 'token', text: this.text, snapshot: true }, next: last + 1 };
    }
    if (offset <= last) {
      return { event: { offset, type: 'token', text: this.#chunk(offset) }, next: offset + 1 };
    }
    if (!this.#end) return 'nothing yet';
    return offset === last + 1 ? { event: { offset, ...this.#end }, next: last + 2 } : 'over';
  }

  #chunk(offset: number): string {
    return this.#chunks[this.#slot(offset)] ?? '';
  }

  #slot(offset: number): number {
    return (offset - 1) % this.#maxChunks;
  }
}
