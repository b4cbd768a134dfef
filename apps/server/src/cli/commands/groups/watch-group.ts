import { ProblemError } from '@millrace/contract/server-client';
import { systemClock } from '@millrace/foundation';
import { type Asking, watchWork } from '../../ask/asking.js';
import { Patience, remarkAway } from '../../ask/patience.js';
import { amount, duration } from '../../show/amounts.js';
import { ProgressBars } from '../../show/progress-bars.js';
import { EXIT } from '../../surroundings.js';
import { explanationLines } from '../jobs/explanation.js';
import { explainFirstWaiting, standsStill } from './first-waiting.js';
import { type Group, type GroupResult, showGroup } from './show-group.js';

/**
 * Between two looks: soon at first, for groups that are done at once. The server's own events of changes come once a second, so looking is
 * sooner and needs no stream.
 */
const FIRST_LOOK_MS = 50;
const LOOK_EVERY_MS = 500;
/** Jobs of a group wait for so long and none runs: whoever watches is told why. */
const STANDSTILL_MS = 3_000;
/** Without a terminal a line is written for each so many percent. */
const TELL_EVERY_PERCENT = 10;

const ENDS: readonly Group['status'][] = ['COMPLETED', 'FAILED', 'CANCELLED'];

/** How a group is watched. */
export interface WatchOptions {
  /** The longest wait; no limit unless given. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Waits for the end of a group, with a bar where somebody can see it, then prints the group and its result.
 * @returns the exit code: 0 when the group is COMPLETED, 1 when it has ended in another way, or not in time.
 * @throws ProblemError when the server refuses; what `fetch` throws when it stays away; the signal's reason when the user interrupts.
 */
export async function watchGroup(
  asking: Asking,
  groupId: string,
  { timeoutMs }: WatchOptions = {},
): Promise<number> {
  const group = await watchWork(asking, ['groups', 'watch', groupId], () =>
    untilEnded(asking, groupId, timeoutMs),
  );
  const result = await resultOf(asking, group);
  asking.answer(group, (printer) => showGroup(printer, group, { result }));
  if (!ENDS.includes(group.status))
    asking.printer.remark(`It has not ended within ${duration(timeoutMs)}; it goes on.`);
  return group.status === 'COMPLETED' ? EXIT.DONE : EXIT.FAILED;
}

/** What came of a group; undefined while it has not ended, and where nobody will see it. */
export async function resultOf(asking: Asking, group: Group): Promise<GroupResult | undefined> {
  if (asking.isJson || !ENDS.includes(group.status)) return undefined;
  const { client, signal } = asking;
  try {
    return await client.call('getGroupResult', { params: { groupId: group.id } }, { signal });
  } catch (error) {
    // Its dead letters were sent back between the two looks.
    if (error instanceof ProblemError && error.code === 'RESULT_PENDING') return undefined;
    throw error;
  }
}

async function untilEnded(asking: Asking, groupId: string, timeoutMs: number | undefined): Promise<Group> {
  using shown = new ShownProgress(asking);
  const patience = new Patience(asking, { onAway: (isAway) => shown.tellAway(isAway), timeoutMs });
  const { signal } = asking;
  let movedAt = systemClock.monotonicMs();
  let isExplained = false;
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, LOOK_EVERY_MS)) {
    const group = await patience.ask((client) =>
      client.call('getGroup', { params: { groupId } }, { signal }),
    );
    shown.tell(group);
    if (ENDS.includes(group.status) || patience.isOver) return group;
    if (!standsStill(group) || shown.hasMoved) movedAt = systemClock.monotonicMs();
    if (!isExplained && systemClock.monotonicMs() - movedAt >= STANDSTILL_MS) {
      const explanation = await patience.ask((client) => explainFirstWaiting(client, groupId, signal));
      if (explanation) shown.say(explanationLines(explanation));
      isExplained = explanation !== undefined;
    }
    await patience.pause(pauseMs);
  }
}

/** How far a group is: a bar at a terminal, else a line now and then. */
class ShownProgress implements Disposable {
  readonly #asking: Asking;
  #bars: ProgressBars;
  #last: Group | undefined;
  #hasMoved = false;
  #toldPercent = 0;

  constructor(asking: Asking) {
    this.#asking = asking;
    this.#bars = new ProgressBars(asking.surroundings);
  }

  /** Whether jobs have ended between the last two looks. */
  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  tell(group: Group): void {
    const { progress } = group;
    this.#hasMoved = progress.done !== this.#last?.progress.done;
    this.#draw(group, noteOf(group));
    const percent = Math.floor(progress.progressPercent / TELL_EVERY_PERCENT) * TELL_EVERY_PERCENT;
    if (this.#bars.isShown || percent <= this.#toldPercent) return;
    this.#toldPercent = percent;
    const { done, registered } = progress;
    this.#asking.printer.remark(
      `${percent} %: ${amount(done)} of ${amount(registered)} done, ${noteOf(group)}`,
    );
  }

  tellAway(isAway: boolean): void {
    if (!this.#bars.isShown) remarkAway(this.#asking, isAway);
    else if (isAway && this.#last) this.#draw(this.#last, 'the server does not answer; waiting for it');
  }

  /** Between two bars: text that is longer than a line would be cut beside one. */
  say(lines: readonly string[]): void {
    this.#bars[Symbol.dispose]();
    for (const line of lines) this.#asking.printer.remark(line);
    this.#bars = new ProgressBars(this.#asking.surroundings);
    if (this.#last) this.tell(this.#last);
  }

  [Symbol.dispose](): void {
    this.#bars[Symbol.dispose]();
  }

  #draw(group: Group, note: string): void {
    this.#last = group;
    const { done, registered } = group.progress;
    this.#bars.set(group.id, { label: group.id, done, total: registered, note });
  }
}

function noteOf({ status, paused, sealed, settledPerSecond, progress }: Group): string {
  const { done, registered, failed, etaMs } = progress;
  return [
    `${amount(settledPerSecond)} per second`,
    ...(failed > 0 ? [`${amount(failed)} failed`] : []),
    ...(ENDS.includes(status)
      ? [status]
      : [
          ...(etaMs === null ? [] : [`${duration(etaMs)} left`]),
          ...(paused ? ['paused'] : []),
          ...(!sealed && done === registered ? ['waits for more jobs, or to be sealed'] : []),
        ]),
  ].join(', ');
}
