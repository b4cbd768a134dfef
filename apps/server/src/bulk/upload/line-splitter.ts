import { LineFault } from './line-fault.js';

const NEWLINE = 0x0a;

/** Cuts a body into its lines, whatever pieces it comes in; holds at most one line that is not complete. */
export class LineSplitter {
  readonly #bytesMax: number;
  #tail = Buffer.alloc(0);
  #held = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * The lines that a piece completes, without their ends. Each may be used until the next is asked for.
   * @throws LineFault for a line that is too long, as soon as that is known.
   */
  *feed(chunk: Buffer): Generator<Buffer> {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      yield this.#complete(chunk.subarray(from, at));
      from = at + 1;
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from));
  }

  /** The last line, where the body does not end with a newline. */
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

  /** Copied, into a buffer that doubles: a line that comes byte by byte costs no more than its length. */
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
