import { closeSync, openSync, readSync } from 'node:fs';

const PIECE = 65_536;

/** Counts what is new in a ledger that is still written: reading all of it at every look would be most of the work. */
export class LedgerTail {
  readonly #fd: number;
  readonly #kinds: readonly string[];
  readonly #piece = Buffer.alloc(PIECE);
  #from = 0;
  /** Of a line that was not whole yet. */
  #begun = '';
  #count = 0;

  constructor(path: string, kinds: readonly string[]) {
    this.#fd = openSync(path, 'r');
    this.#kinds = kinds.map((kind) => `"kind":"${kind}"`);
  }

  /** How many there are by now. */
  count(): number {
    for (;;) {
      const read = readSync(this.#fd, this.#piece, 0, PIECE, this.#from);
      if (read === 0) return this.#count;
      this.#from += read;
      // One byte a character: the kinds are plain, and a character may be cut in two.
      const lines = (this.#begun + this.#piece.toString('latin1', 0, read)).split('\n');
      this.#begun = lines.pop() ?? '';
      this.#count += lines.filter((line) => this.#kinds.some((kind) => line.includes(kind))).length;
    }
  }

  /** Lets go of the file. */
  close(): void {
    closeSync(this.#fd);
  }
}
