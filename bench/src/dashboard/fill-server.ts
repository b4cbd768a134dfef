import type { ServerClient } from '@millrace/contract/server-client';
import { until } from '@millrace/testkit';

/** How much there is to look at. */
export interface Amounts {
  readonly groups: number;
  readonly deadLetters: number;
}

/** Requests under way at once. */
const AT_ONCE = 16;
const FILLED_WITHIN_MS = 600_000;
/** One group in so many has not ended, and jobs of it wait; those of every other one are paused. */
const OPEN_EVERY = 10;
const WAITING_JOBS = 30;
/** So slow that they still wait when the last page was looked at. */
const OPEN_RPS = 0.05;
const LETTERS_OF_A_GROUP = 11;
const GROUPS_OF_A_TENANT = 20;

/** A group to be made: how many of its jobs die, or that it stays open. */
interface PlannedGroup {
  readonly id: string;
  readonly tenantId: string;
  readonly letters: number;
  readonly isPaused: boolean;
}

/**
 * Fills a server as months of work would have: most groups have ended, and left dead letters of a few causes; the newest has as many as
 * all others leave over.
 */
export async function fillServer(client: ServerClient, amounts: Amounts): Promise<void> {
  const groups = plannedGroups(amounts);
  await eachOf(groups, (group) => makeGroup(client, group));
  await until(async () => (await client.call('getQueues', {})).deadLetters === amounts.deadLetters, {
    what: `${amounts.deadLetters} dead letters`,
    deadlineMs: FILLED_WITHIN_MS,
    intervalMs: 50,
  });
  // Not before: who changes what is written down first, and a server that is busy with so much work at once may refuse that.
  await eachOf(
    groups.filter(({ isPaused }) => isPaused),
    ({ id }) => client.call('changeGroup', { params: { groupId: id }, body: { paused: true } }),
  );
}

async function eachOf<T>(all: readonly T[], does: (one: T) => Promise<unknown>): Promise<void> {
  const left = all.values();
  const takers = Array.from({ length: AT_ONCE }, async () => {
    for (const one of left) await does(one);
  });
  await Promise.all(takers);
}

/** The oldest first; numbers grow with age. */
function plannedGroups({ groups, deadLetters }: Amounts): PlannedGroup[] {
  const isOpen = (at: number) => at % OPEN_EVERY === OPEN_EVERY - 1;
  const ended = groups - Math.floor(groups / OPEN_EVERY);
  const first = deadLetters - (ended - 1) * LETTERS_OF_A_GROUP;
  const planned = Array.from({ length: groups }, (_, at) => ({
    id: `${isOpen(at) ? 'open' : 'campaign'}-${String(at).padStart(5, '0')}`,
    tenantId: `customer-${String(Math.floor(at / GROUPS_OF_A_TENANT)).padStart(3, '0')}`,
    letters: isOpen(at) ? 0 : at === 0 ? first : LETTERS_OF_A_GROUP,
    isPaused: at % (2 * OPEN_EVERY) === OPEN_EVERY - 1,
  }));
  return planned.reverse();
}

let numbered = 0;

async function makeGroup(client: ServerClient, group: PlannedGroup): Promise<void> {
  const { id, tenantId, letters } = group;
  const isOpen = letters === 0;
  const jobs = Array.from({ length: isOpen ? WAITING_JOBS : letters }, (_, at) => ({
    id: `job-${at}`,
    processorType: isOpen ? 'bench.work' : 'bench.die',
    payload: { n: ++numbered },
  }));
  const limits = isOpen ? { rps: OPEN_RPS, burst: 1 } : {};
  await client.call('submitGroup', { body: { group: { id, tenantId, ...limits }, jobs } });
}
