/** A line that cannot be accepted. The caller adds the line number. */
export class LineFault extends Error {
  override readonly name = 'LineFault';
}

const NEWLINE = 0x0a;

/** Splits chunks of a body into lines. Buffers at most one incomplete line. */
export class LineSplitter {
  readonly #bytesMax: number;
  #tail = Buffer.alloc(0);
  #held = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Yields the lines that a chunk completes, without their newlines. A line is valid until the next one is requested.
   * @throws LineFault for a line that is too long, as soon as it exceeds the limit.
   */
  *feed(chunk: Buffer): Generator<Buffer> {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield this.#complete(chunk.subarray(from, at));
      from = at + 1;
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from));
  }

  /** Returns the last line if the body does not end with a newline. */
  end(): Buffer | undefined {
    return this.#held > 0 ? this.#complete(Buffer.alloc(0)) : undefined;
  }

  #complete(piece: Buffer): Buffer {
    if (this.#held === 0) {
      this.#requireRoom(piece.length);
      return piece;
    }
    this.#hold(piece);
    const line = this.#tail.subarray(0, this.#held);
    this.#held = 0;
    return line;
  }

  /** Copies into a buffer that doubles, so that a line that arrives byte by byte costs linear time. */
  #hold(piece: Buffer): void {
    const bytes = this.#held + piece.length;
    this.#requireRoom(bytes);
    if (bytes > this.#tail.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#tail.length));
      this.#tail.copy(larger, 0, 0, this.#held);
      this.#tail = larger;
    }
    piece.copy(this.#tail, this.#held);
    this.#held = bytes;
  }

  #requireRoom(bytes: number): void {
    if (bytes > this.#bytesMax) throw new LineFault(`it has more than ${this.#bytesMax} bytes`);
  }
}
