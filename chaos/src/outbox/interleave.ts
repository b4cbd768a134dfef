import type { StartedBatch } from '@millrace/outbox';
import type { Tx } from '@millrace/postgres';
import { type LedgerEntry, until } from '@millrace/testkit';
import { some, type Verdict } from '../registry.js';
import type { CrossedPair } from './conflict-plan.js';
import type { Evidence } from './evidence.js';
import { untilAnswered } from './follow.js';
import type { OpenedOutbox } from './open-outbox.js';
import type { PlannedBatch } from './plan.js';

/** How long the late one waits for those who poll to have done the early one. */
const PASSED_WITHIN_MS = 3000;

const withoutBound = <T>(call: () => Promise<T>): Promise<T> => call();

/**
 * Starts two batches in transactions side by side. The first one gets the lower id, and is committed when those who poll have found and done
 * the second: whoever remembers up to which id it has looked would never find the first.
 * @param opened - an outbox of this process; its ledger is told of each answer.
 */
export async function startCrossed(
  { late, early }: CrossedPair,
  { outbox, database, ledger }: OpenedOutbox,
): Promise<void> {
  const parts = { ledger, limited: withoutBound };
  const start = ({ dag, bizKey, payload }: PlannedBatch, tx: Tx) =>
    outbox.pusher.start(dag, bizKey, payload, { tx });
  const acknowledge = ({ bizKey }: PlannedBatch, { id, created }: StartedBatch) =>
    ledger.append({ kind: 'acknowledged', batch: bizKey, id, created });
  const startEarly = () => database.transaction((tx) => start(early, tx));
  const hasEnded = async (id: string) => (await outbox.batches.get(id)).status !== 'RUNNING';
  let second: StartedBatch | undefined;
  const first = await untilAnswered(
    () =>
      database.transaction(async (tx) => {
        const begun = await start(late, tx);
        if (second === undefined) {
          second = await untilAnswered(startEarly, parts, early.bizKey);
          acknowledge(early, second);
        }
        const { id } = second;
        const what = `${early.bizKey} to end`;
        await until(() => hasEnded(id), { what, deadlineMs: PASSED_WITHIN_MS, intervalMs: 25 }).catch(
          () => {},
        );
        return begun;
      }),
    parts,
    late.bizKey,
  );
  acknowledge(late, first);
}

/** Batches with lower ids than others were committed after those had run, and ran all the same. */
export function checkCrossed(
  { batches, testimony }: Pick<Evidence, 'batches' | 'testimony'>,
  entries: readonly LedgerEntry[],
  pairs: readonly CrossedPair[],
): Verdict {
  const wrong: string[] = [];
  const idOf = (bizKey: string) => BigInt(batches.find((batch) => batch.bizKey === bizKey)?.id ?? 0);
  const runsOf = (bizKey: string) => testimony.runs.filter(({ name }) => name.startsWith(`${bizKey}#`));
  let crossed = 0;
  for (const { late, early } of pairs) {
    const committedAt = entries.find(
      ({ kind, batch }) => kind === 'acknowledged' && batch === late.bizKey,
    )?.at;
    const isPassed = runsOf(early.bizKey).some(
      ({ endedAt = Number.POSITIVE_INFINITY }) => endedAt <= (committedAt ?? 0),
    );
    if (isPassed && idOf(late.bizKey) < idOf(early.bizKey)) crossed += 1;
    if (runsOf(late.bizKey).length === 0) wrong.push(`${late.bizKey} was skipped`);
    if (batches.find(({ bizKey }) => bizKey === late.bizKey)?.status !== 'DONE')
      wrong.push(`${late.bizKey} is not done`);
  }
  return {
    invariant: 'the lower id committed later runs',
    held: wrong.length === 0 && crossed > 0,
    evidence:
      wrong.length > 0
        ? some(wrong)
        : `${crossed} of ${pairs.length} pairs: the batch with the lower id committed after the other had run, and done`,
  };
}
