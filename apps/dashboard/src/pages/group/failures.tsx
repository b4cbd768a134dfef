import type { GroupBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { MoveDeadLetters } from '../../actions/move-dead-letters.js';
import { useAsk } from '../../data/ask.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { CauseList } from '../../parts/cause-list.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { counted, countText } from '../../rules/amounts.js';
import { CAUSES_MAX, failuresOf, failuresText } from '../../rules/causes.js';
import { hrefOf } from '../../rules/hrefs.js';

/** More causes than that are on the page of dead letters. */
const SHOWN = 8;

/** What failed for good in a group, by error, and the way back. */
export function GroupFailures({ group }: { readonly group: GroupBody }): ReactNode {
  const { may } = useSession();
  const { id: groupId } = group;
  const query = { groupBy: 'signature', groupId, limit: CAUSES_MAX } as const;
  const { data, error } = useAsk('listDeadLetters', { query }, { keepsShown: false });
  const [seen, setSeen] = useState<number>();
  const causes = data?.signatures ?? [];
  const count = failuresOf(causes);
  return (
    <Card
      title="Failed jobs by error"
      note={causes.length > 0 && failuresText(causes)}
      aside={
        may('operate') &&
        count !== undefined &&
        count > 0 && (
          <Button icon="retry" onClick={() => setSeen(count)}>
            Redrive {countText(count)}
          </Button>
        )
      }
    >
      {error && !data && <ProblemNote error={error} />}
      {data && causes.length === 0 && group.progress.failed === 0 && (
        <Empty title="None has failed for good">Those that do are counted here by error.</Empty>
      )}
      <CauseList causes={causes.slice(0, SHOWN)} groupId={groupId} />
      {causes.length > SHOWN && (
        <p className="small">
          <Link href={hrefOf('deadLetters', undefined, { groupId })}>
            and {counted(causes.length - SHOWN, 'more error')}
          </Link>
        </p>
      )}
      {count !== undefined && <WithoutLetter group={group} failed={group.progress.failed - count} />}
      {seen !== undefined && (
        <MoveDeadLetters
          move="redrive"
          selection={{ groupId }}
          seen={seen}
          onClose={() => setSeen(undefined)}
        />
      )}
    </Card>
  );
}

/** Jobs for which another try is of no use are no dead letters, nor are those of letters that were thrown away. */
function WithoutLetter({ group, failed }: { readonly group: GroupBody; readonly failed: number }): ReactNode {
  if (failed <= 0) return null;
  return (
    <p className="group-no-letter">
      <Link href={hrefOf('jobs', { groupId: group.id }, { state: 'FAILED' })}>
        {counted(failed, 'failed job')}
      </Link>{' '}
      <span className="quiet">
        {failed === 1 ? 'is no dead letter: it' : 'are no dead letters: they'} cannot be redriven
      </span>
    </p>
  );
}
