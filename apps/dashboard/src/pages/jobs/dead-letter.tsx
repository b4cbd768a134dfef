import type { JobBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { MoveDeadLetters } from '../../actions/move-dead-letters.js';
import { useAsk } from '../../data/ask.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { ProblemNote } from '../../parts/said.js';
import { Ago } from '../../parts/when.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';

/** Why a job failed for good, and the way back. */
export function DeadLetter({ job: { groupId, id: jobId } }: { readonly job: JobBody }): ReactNode {
  const { may } = useSession();
  const [isAsking, setAsking] = useState(false);
  const query = { groupId, jobId, limit: 1 } as const;
  const { data, error } = useAsk('listDeadLetters', { query }, { keepsShown: false });
  const letter = data?.items?.[0];
  return (
    <Card
      title="Failed for good"
      note={
        letter && (
          <>
            <Ago at={letter.failedAt} /> as <code>{shownText(letter.code)}</code>
          </>
        )
      }
      aside={
        may('operate') &&
        letter && (
          <Button icon="retry" onClick={() => setAsking(true)}>
            Redrive
          </Button>
        )
      }
    >
      {error && !data && <ProblemNote error={error} />}
      <div className="job-letter">
        {letter && (
          <>
            <p className="job-message tone-fail">{shownText(letter.error)}</p>
            <p className="small quiet">
              Dead letters of the same error:{' '}
              <Link className="mono" href={hrefOf('deadLetters', undefined, { signature: letter.signature })}>
                {shownText(letter.signature)}
              </Link>
            </p>
          </>
        )}
      </div>
      {isAsking && (
        <MoveDeadLetters
          move="redrive"
          selection={{ ids: [{ groupId, jobId }] }}
          seen={1}
          onClose={() => setAsking(false)}
        />
      )}
    </Card>
  );
}
