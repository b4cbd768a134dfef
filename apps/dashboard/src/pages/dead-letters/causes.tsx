import { type ReactNode, useState } from 'react';
import { useAsk } from '../../data/ask.js';
import { useLive } from '../../data/live.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { FilterField } from '../../parts/filter-field.js';
import { PageHead } from '../../parts/page-head.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { CAUSES_MAX, failuresOf, failuresText } from '../../rules/causes.js';
import { shownText } from '../../rules/written-json.js';
import { CauseBlock } from './cause-block.js';
import { type AskMove, MoveButtons } from './move-buttons.js';

/** What failed for good, of a group or of all. */
export interface CausesProps {
  readonly groupId: string | undefined;
  readonly onGroup: (groupId: string) => void;
  readonly ask: AskMove;
}

/** Nothing tells of letters that somebody else has thrown away. */
const LOOK_AGAIN_MS = 10_000;
/** So many are drawn at first, and more when they are wanted: the frequent ones come first. */
const DRAWN_AT_ONCE = 20;

/** Failures by cause, the most frequent first. */
export function Causes({ groupId, onGroup, ask }: CausesProps): ReactNode {
  const { data, error } = useAsk(
    'listDeadLetters',
    { query: { groupBy: 'signature', groupId, limit: CAUSES_MAX } },
    { keepsShown: false, everyMs: LOOK_AGAIN_MS },
  );
  const causes = data?.signatures;
  const failures = useFailures(causes, groupId);
  const selection = groupId === undefined ? { all: true as const } : { groupId };
  return (
    <>
      <PageHead title="Dead letters" note="Jobs that failed for good: all their tries are spent">
        <div className="row dead-letters-filter">
          <FilterField label="Group id" maxLength={257} value={groupId ?? ''} onTake={onGroup} />
          {groupId !== undefined && (
            <Button look="quiet" icon="close" iconOnly onClick={() => onGroup('')}>
              Show all groups
            </Button>
          )}
        </div>
        {failures !== undefined && (
          <MoveButtons
            selection={selection}
            count={failures}
            ask={ask}
            which="all"
            of={groupId === undefined ? 'dead letters' : `dead letters of ${shownText(groupId)}`}
          />
        )}
      </PageHead>
      {error && !causes && <ProblemNote error={error} />}
      {!error && !causes && <div className="dead-letters-awaited" role="status" aria-label="Loading" />}
      {causes?.length === 0 && <NoLetters groupId={groupId} />}
      {causes && causes.length > 0 && (
        <>
          <p className="dead-letters-headline">{failuresText(causes, failures)}</p>
          <CauseList causes={causes} failures={failures} groupId={groupId} ask={ask} />
        </>
      )}
    </>
  );
}

type Cause = Parameters<typeof CauseBlock>[0]['cause'];

/** How many there are; from elsewhere where there are more causes than the server tells. */
function useFailures(causes: readonly Cause[] | undefined, groupId: string | undefined): number | undefined {
  const { seesAll } = useSession();
  const { snapshot } = useLive();
  if (!causes) return undefined;
  const everybodys = seesAll && groupId === undefined ? snapshot?.queues?.deadLetters : undefined;
  return failuresOf(causes) ?? everybodys;
}

function CauseList({
  causes,
  failures,
  groupId,
  ask,
}: Pick<CausesProps, 'groupId' | 'ask'> & {
  readonly causes: readonly Cause[];
  readonly failures: number | undefined;
}): ReactNode {
  const [drawn, setDrawn] = useState(DRAWN_AT_ONCE);
  const shown = failures ?? causes.reduce((sum, { count }) => sum + count, 0);
  const left = causes.length - drawn;
  return (
    <>
      <ol className="dead-letters-causes" aria-label="Errors, the most frequent first">
        {causes.slice(0, drawn).map((cause) => (
          <li key={cause.signature}>
            <CauseBlock cause={cause} failures={shown} groupId={groupId} ask={ask} />
          </li>
        ))}
      </ol>
      {left > 0 && (
        <div>
          <Button onClick={() => setDrawn(drawn + DRAWN_AT_ONCE)}>
            Show {Math.min(left, DRAWN_AT_ONCE)} of {left} more
          </Button>
        </div>
      )}
    </>
  );
}

function NoLetters({ groupId }: { readonly groupId: string | undefined }): ReactNode {
  return (
    <Card>
      <Empty
        title={
          groupId === undefined ? 'Nothing has failed for good' : 'Nothing of this group has failed for good'
        }
      >
        A job whose tries are all spent becomes a dead letter. It is kept here with its payload and its error,
        until somebody runs it again or throws it away.
      </Empty>
    </Card>
  );
}
