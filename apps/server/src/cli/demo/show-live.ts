import pico from 'picocolors';
import { amount, duration } from '../show/amounts.js';
import { safeText } from '../show/text.js';
import { hasColours, isTerminal, type Surroundings } from '../surroundings.js';
import type { DemoFacts } from './facts.js';
import { LiveScreen } from './live-screen.js';
import { pictureOf } from './picture.js';

/** Shows how a demo fares while it runs, on standard error. */
export interface LiveView extends Disposable {
  show(facts: DemoFacts): void;
}

/** Of a terminal that does not say. */
const COLUMNS = 80;
const ROWS = 24;
/** Between two lines where there is no terminal. */
const LINE_EVERY_MS = 5_000;

/** A picture that moves on a terminal, a line now and then elsewhere. */
export function liveView({ stderr, env, events }: Surroundings): LiveView {
  if (!isTerminal(stderr, env)) return spoken((line) => void stderr.write(`${safeText(line)}\n`));
  const colours = pico.createColors(hasColours(stderr, env));
  const screen = new LiveScreen(stderr, events);
  return {
    show: (facts) =>
      // A terminal may say that it has none.
      screen.draw(
        pictureOf(facts, { columns: stderr.columns || COLUMNS, rows: stderr.rows || ROWS, colours }),
      ),
    [Symbol.dispose]: () => screen[Symbol.dispose](),
  };
}

function spoken(say: (line: string) => void): LiveView {
  let nextMs = 0;
  return {
    show(facts) {
      if (facts.elapsedMs < nextMs) return;
      nextMs = facts.elapsedMs + LINE_EVERY_MS;
      say(lineOf(facts));
    },
    [Symbol.dispose]: () => {},
  };
}

/** A demo at one moment, in a line. */
function lineOf({ elapsedMs, tenants, batches, operations, chat, deadLetters }: DemoFacts): string {
  const jobs = (kinds: readonly string[]) => {
    const own = tenants.filter(({ kind }) => kinds.includes(kind));
    const done = own.reduce((sum, tenant) => sum + tenant.done + tenant.failed, 0);
    return `${amount(done)} of ${amount(own.reduce((sum, tenant) => sum + tenant.jobs, 0))}`;
  };
  return [
    `${duration(elapsedMs)}: whale ${jobs(['whale'])} jobs`,
    `others ${jobs(['small', 'other'])}`,
    `${amount(deadLetters.count)} dead`,
    `${amount(batches.done)} of ${amount(batches.done + batches.failed + batches.open)} batches`,
    `${amount(operations.completed)} operations`,
    `${amount(chat.answered)} chat turns`,
  ].join(', ');
}
