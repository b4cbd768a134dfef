import { MultiBar, type SingleBar } from 'cli-progress';
import pico from 'picocolors';
import { hasColours, isTerminal, type Surroundings } from '../surroundings.js';
import { drawnBar } from './drawn-bar.js';
import { safeText } from './text.js';

/** What one bar shows. */
export interface BarState {
  readonly label: string;
  readonly done: number;
  readonly total: number;
  /** Behind the bar: the rate, the time that is left. */
  readonly note: string;
}

const REDRAWS_PER_SECOND = 10;
/** Of a terminal that does not say how wide it is. */
const COLUMNS = 80;

/** Bars on standard error, one below the other; none where it is no terminal. Dispose of them before anything else is written. */
export class ProgressBars implements Disposable {
  readonly #multi: MultiBar | undefined;
  readonly #bars = new Map<string, SingleBar>();
  readonly #labels = new Map<string, string>();
  #isDrawn = false;

  constructor({ stderr, env }: Surroundings) {
    if (!isTerminal(stderr, env)) return;
    const { green } = pico.createColors(hasColours(stderr, env));
    this.#multi = new MultiBar({
      stream: stderr as unknown as NodeJS.WriteStream,
      fps: REDRAWS_PER_SECOND,
      format: (_options, { progress }, { label, note }) =>
        drawnBar(
          { label, progress, note },
          {
            // Asked each time: windows change.
            columns: stderr.columns ?? COLUMNS,
            labelCharacters: Math.max(...[...this.#labels.values()].map((text) => text.length)),
            colour: green,
          },
        ),
      hideCursor: true,
      // Interrupting is up to the command.
      gracefulExit: false,
      emptyOnZero: true,
    });
  }

  /** Whether anybody sees them: what costs a request only to be shown here need not be asked otherwise. */
  get isShown(): boolean {
    return this.#multi !== undefined;
  }

  /** Adds a bar or updates it. Removes control characters from the label and the note. */
  set(id: string, { label, done, total, note }: BarState): void {
    if (!this.#multi) return;
    this.#isDrawn = true;
    const texts = { label: safeText(label), note: safeText(note) };
    this.#labels.set(id, texts.label);
    const bar = this.#bars.get(id) ?? this.#multi.create(total, 0, texts);
    this.#bars.set(id, bar);
    bar.setTotal(total);
    bar.update(done, texts);
  }

  /** Takes a bar away. */
  remove(id: string): void {
    const bar = this.#bars.get(id);
    if (!bar) return;
    this.#multi?.remove(bar);
    this.#bars.delete(id);
    this.#labels.delete(id);
  }

  /** Leaves the bars as they are, and the line below them free. */
  [Symbol.dispose](): void {
    // Without a bar it would leave an empty line.
    if (this.#isDrawn) this.#multi?.stop();
  }
}
