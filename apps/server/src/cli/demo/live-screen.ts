import type { ProcessEvents, Screen } from '../surroundings.js';

const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
const CLEAR_ALL = '\u001b[H\u001b[2J';
const up = (lines: number): string => `\u001b[${lines}A`;

/** Draws one picture over the other at the same place. Dispose of it before anything else is written. */
export class LiveScreen implements Disposable {
  readonly #screen: Screen;
  readonly #events: ProcessEvents;
  readonly #restore = () => this.#screen.write(SHOW_CURSOR);
  #drawn: { readonly lines: number; readonly columns: number } | undefined;

  /**
   * Hides the cursor.
   * @param events - of the process: however it ends, the cursor comes back.
   */
  constructor(screen: Screen, events: ProcessEvents) {
    this.#screen = screen;
    this.#events = events;
    events.on('exit', this.#restore);
    screen.write(HIDE_CURSOR);
  }

  /**
   * Draws a picture over the one before, in one write.
   * @param lines - fewer than the screen has rows, none wider than it.
   */
  draw(lines: readonly string[]): void {
    const { columns = 0 } = this.#screen;
    const begin = this.#begin(columns);
    const text = lines.map((line) => `${line}${CLEAR_LINE}\n`).join('');
    this.#screen.write(`${begin}${text}${CLEAR_BELOW}`);
    this.#drawn = { lines: lines.length, columns };
  }

  /** Leaves the picture as it is, an empty line below it, and the cursor visible. */
  [Symbol.dispose](): void {
    this.#events.off('exit', this.#restore);
    this.#screen.write(`${SHOW_CURSOR}\n`);
  }

  #begin(columns: number): string {
    if (!this.#drawn) return '';
    // On another width the terminal has broken the lines anew: nobody knows where they are.
    if (this.#drawn.columns !== columns) return CLEAR_ALL;
    return this.#drawn.lines === 0 ? '' : `\r${up(this.#drawn.lines)}`;
  }
}
