import type { GroupBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Card } from '../../parts/card.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';
import { Explain } from '../jobs/explain.js';
import { useWaitingJob } from './waiting-job.js';

/** What holds the next job of a group back: so nobody has to guess. */
export function GroupWaits({ group }: { readonly group: GroupBody }): ReactNode {
  const { id: groupId } = group;
  const { data, error, dataUpdatedAt } = useWaitingJob(groupId);
  const explanation = data?.explanation;
  const jobId = explanation?.job.id;
  return (
    <Card
      title="Why does it wait?"
      note={
        jobId !== undefined && (
          <>
            Told by job <Link href={hrefOf('job', { groupId, jobId })}>{shownText(jobId)}</Link>, one of those
            that wait
          </>
        )
      }
    >
      {error && !data && <ProblemNote error={error} />}
      {data && !explanation && <NothingWaits group={group} />}
      {explanation && <Explain explanation={explanation} answeredAt={dataUpdatedAt} />}
    </Card>
  );
}

function NothingWaits({ group: { progress, sealed } }: { readonly group: GroupBody }): ReactNode {
  if (progress.pending > 0) return <Empty title="Its jobs start as soon as they are looked at" />;
  if (progress.inFlight === 0 && !sealed)
    return (
      <Empty title="It waits for more jobs">All that it has have ended. It ends when it is sealed.</Empty>
    );
  return <Empty title="Nothing waits">All jobs that it has run or have ended.</Empty>;
}
