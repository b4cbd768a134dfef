import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** An entry without `at`, `pid` and `seq`, which the ledger fills in. `kind` is the event: "started", "charged". */
export type LedgerNote = Readonly<Record<string, unknown>> & { readonly kind: string };

/** One line of the ledger. */
export interface LedgerEntry {
  /** Milliseconds since the Unix epoch, by the writer's clock. */
  readonly at: number;
  /** The process that wrote it. */
  readonly pid: number;
  /** Its number among the entries of one open ledger, from 1. */
  readonly seq: number;
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** An open ledger. */
export interface Ledger extends Disposable {
  /**
   * Writes one entry. When it returns, a SIGKILL of this process cannot lose the entry.
   * @throws Error if the line is longer than 4096 bytes, was not written whole, or contains `at`, `pid` or `seq`.
   */
  append(note: LedgerNote): LedgerEntry;
  close(): void;
}

// Several processes append at once. Linux writes up to one page to a file opened with O_APPEND in one piece. Longer lines
// could be mixed.
const LINE_BYTES_MAX = 4_096;
const OWN_FIELDS = ['at', 'pid', 'seq'];

/**
 * Opens a record of what happened, which is kept outside the system under test and checked afterwards. Any number of
 * processes may append to one file. Creates a missing file and never truncates one.
 */
export function openLedger(path: string): Ledger {
  let fd: number | undefined = openSync(path, 'a');
  let seq = 0;
  const close = () => {
    if (fd !== undefined) closeSync(fd);
    fd = undefined;
  };
  return {
    append({ kind, ...fields }) {
      if (fd === undefined) throw new Error(`ledger ${path} has been closed`);
      const posing = OWN_FIELDS.find((name) => name in fields);
      if (posing) throw new Error(`the ledger fills in \`${posing}\`; rename the field`);
      const entry: LedgerEntry = { at: Date.now(), pid: process.pid, seq: seq + 1, kind, ...fields };
      const line = Buffer.from(`${JSON.stringify(entry)}\n`);
      if (line.length > LINE_BYTES_MAX) {
        throw new Error(`expected a ledger line of at most ${LINE_BYTES_MAX} bytes, got ${line.length}`);
      }
      const written = writeSync(fd, line);
      if (written !== line.length) {
        throw new Error(
          `only ${written} of ${line.length} bytes went into ledger ${path}: is the disk full?`,
        );
      }
      seq += 1;
      return entry;
    },
    close,
    [Symbol.dispose]: close,
  };
}

/**
 * Reads the entries in the order in which they were written. Leaves out a last line without its end: its writer was killed
 * before `append` returned.
 * @throws Error if the file is missing or another line is broken: the record then proves nothing.
 */
export function readLedger(path: string): LedgerEntry[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.slice(0, -1).map((line, index) => {
    try {
      return JSON.parse(line) as LedgerEntry;
    } catch (cause) {
      throw new Error(`ledger ${path} is broken at line ${index + 1}: ${line.slice(0, 200)}`, { cause });
    }
  });
}
