import type { RequestOf, ResponseOf } from '@millrace/contract/server-client';
import { sleep, systemClock } from '@millrace/foundation';
import type { Asking } from '../ask/asking.js';
import { type SomeServer, someServer } from '../ask/some-server.js';
import { pluralize } from '../show/amounts.js';
import { DemoWatch } from './demo-watch.js';
import type { DemoFacts } from './facts.js';
import { type LiveView, liveView } from './show-live.js';
import { showSummary } from './show-summary.js';
import { summaryOf } from './summary.js';

/** What a demo may be asked for. */
export type DemoWish = RequestOf<'startDemo'>['body'];

/** Of an output that does not say how wide it is. */
const COLUMNS = 100;
const REDRAW_MS = 200;
const LOOK_EVERY_MS = 400;
/** Of the time, what asking may take: a slow server has other things to do. */
const LOOKING_SHARE = 0.25;
/** After its end for what it left to end: the deadline of its groups is then. */
const END_PATIENCE_MS = 15_000;
/** For an answer that is being streamed when everything else has ended. */
const CHAT_PATIENCE_MS = 3_000;
/** For the server to end a demo that was interrupted. */
const STOP_PATIENCE_MS = 5_000;

/**
 * Runs a demo on some server and shows it until it is over; interrupted, it is ended there too.
 * @param wish - how long, how much, how many.
 * @throws MillraceError, ProblemError: it could not run.
 */
export async function runDemo(asking: Asking, wish: DemoWish): Promise<undefined> {
  const { printer, signal } = asking;
  await using server = await someServer(asking);
  const demo = await server.once.call('startDemo', { body: wish }, { signal });
  const until = `${demo.endsAt.slice(11, 19)} UTC`;
  if (!demo.created) printer.remark(`A demo runs there already, until ${until}: this shows it.`);
  printer.remark(`Look at it in another window: ${server.url}/`);
  let facts: DemoFacts;
  try {
    facts = await watched(asking, server, demo);
  } catch (error) {
    if (demo.created) await ended(asking, server);
    else printer.remark('The demo goes on without being watched: `millrace demo --stop` ends it.');
    throw error;
  }
  const summary = summaryOf(facts, server.isOwn);
  const { columns = COLUMNS } = asking.surroundings.stdout;
  asking.answer(summary, () => showSummary(printer, summary, columns || COLUMNS));
  if (server.isOwn) printer.remark('Its server has ended with it. To have one that stays: millrace start');
  return undefined;
}

type Demo = ConstructorParameters<typeof DemoWatch>[0]['demo'];

/** Looks until everything has ended, and draws more often than it looks. */
async function watched(asking: Asking, { client, url }: SomeServer, demo: Demo): Promise<DemoFacts> {
  const over = new AbortController();
  const signal = AbortSignal.any([asking.signal, over.signal]);
  const watch = new DemoWatch({ client, url, demo, clock: systemClock, signal });
  let redraw: NodeJS.Timeout | undefined;
  try {
    let facts = await watch.look();
    using view: LiveView = liveView(asking.surroundings);
    view.show(facts);
    redraw = setInterval(() => view.show(watch.freshened(facts)), REDRAW_MS);
    for (let tookMs = 0; !facts.isOver && facts.elapsedMs < facts.lengthMs + END_PATIENCE_MS; ) {
      await sleep(systemClock, Math.max(LOOK_EVERY_MS, tookMs * (1 / LOOKING_SHARE - 1)), signal);
      signal.throwIfAborted();
      const beginMs = systemClock.monotonicMs();
      facts = await watch.look();
      tookMs = systemClock.monotonicMs() - beginMs;
    }
    await Promise.race([watch.settled(), sleep(systemClock, CHAT_PATIENCE_MS, signal)]);
    signal.throwIfAborted();
    facts = watch.freshened(facts);
    view.show(facts);
    return facts;
  } finally {
    clearInterval(redraw);
    over.abort();
  }
}

/** What was ended with a demo, in a sentence. */
export function stoppedText({ groups, batches, operations }: ResponseOf<'stopDemo'>): string {
  if (groups + batches + operations === 0) return 'There was nothing of a demo to end.';
  const what = [
    pluralize(groups, 'group'),
    pluralize(batches, 'batch', 'batches'),
    pluralize(operations, 'operation'),
  ];
  return `Ended: ${what.join(', ')}.`;
}

/** Whoever interrupts a demo wants nothing of it to be left. */
async function ended({ printer }: Asking, { client }: SomeServer): Promise<void> {
  try {
    const signal = AbortSignal.timeout(STOP_PATIENCE_MS);
    const stopped = await client.call('stopDemo', {}, { signal });
    printer.remark(`The demo has been stopped. ${stoppedText(stopped)}`);
  } catch {
    // Why it was to be stopped is what counts, and its work has a deadline.
    printer.remark(
      'The demo could not be stopped: what is left of it ends by its deadline, or with `millrace demo --stop`.',
    );
  }
}
