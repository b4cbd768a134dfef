import Table from 'cli-table3';
import pico from 'picocolors';
import { hasColours, type Surroundings } from '../surroundings.js';
import { safeJson, safeText } from './text.js';

/** Colours by what they mean; without a terminal, or with NO_COLOR, they change nothing. */
export type Colours = ReturnType<typeof pico.createColors>;

/** A column of a table. */
export interface Column<Row> {
  readonly name: string;
  /** Text of others is made safe; colours are added by `colour`. */
  readonly of: (row: Row) => string;
  /** Numbers stand to the right. */
  readonly isNumber?: boolean | undefined;
  readonly colour?: ((text: string, row: Row, colours: Colours) => string) | undefined;
}

/** Writes data to standard output and remarks to standard error. Everything that it is given may hold what others have written. */
export class Printer {
  readonly #surroundings: Surroundings;
  readonly colours: Colours;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
    this.colours = pico.createColors(hasColours(surroundings.stdout, surroundings.env));
  }

  /** One line of data. */
  line(text: string): void {
    this.#write(safeText(text));
  }

  /**
   * A value as JSON.
   * @param value - anything that JSON can say.
   */
  json(value: unknown): void {
    this.#write(safeJson(value));
  }

  /**
   * Names and values below each other.
   * @param fields - a value that is undefined is left out.
   */
  fields(fields: Readonly<Record<string, string | undefined>>): void {
    const shown = Object.entries(fields).filter(([, value]) => value !== undefined);
    const width = Math.max(0, ...shown.map(([name]) => name.length));
    for (const [name, value = ''] of shown)
      this.#write(`${this.colours.dim(name.padEnd(width))}  ${safeText(value)}`);
  }

  /**
   * Rows below each other, or a sentence when there are none.
   * @param none - said instead of an empty table.
   */
  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], none: string): void {
    if (rows.length === 0) {
      this.remark(none);
      return;
    }
    const table = new Table({
      head: columns.map(({ name }) => this.colours.dim(name)),
      colAligns: columns.map(({ isNumber }) => (isNumber ? 'right' : 'left')),
      chars: BARE,
      style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    });
    for (const row of rows)
      table.push(
        columns.map(({ of, colour }) => {
          const text = safeText(of(row));
          return colour ? colour(text, row, this.colours) : text;
        }),
      );
    for (const line of table.toString().split('\n')) this.#write(line.trimEnd());
  }

  /** Something for a person only, beside the data. */
  remark(text: string): void {
    this.#surroundings.stderr.write(`${safeText(text)}\n`);
  }

  #write(line: string): void {
    this.#surroundings.stdout.write(`${line}\n`);
  }
}

/** Columns apart by spaces alone: good to read, and to cut and grep. */
const BARE = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid']
    .flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .concat('middle', 'left-mid', 'mid-mid', 'right-mid')
    .map((name) => [name, '']),
);
