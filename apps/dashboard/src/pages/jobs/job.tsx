import type { JobDetailBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useAsk } from '../../data/ask.js';
import { Card } from '../../parts/card.js';
import { Copyable } from '../../parts/copyable.js';
import { PageHead } from '../../parts/page-head.js';
import { ProblemNote } from '../../parts/said.js';
import { Status } from '../../parts/status.js';
import { isWaiting } from '../../rules/gates.js';
import { hrefOf, type ViewProps } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';
import { DeadLetter } from './dead-letter.js';
import { Explain } from './explain.js';
import { JobData } from './job-data.js';
import { JobFacts } from './job-facts.js';
import './jobs.css';
import { FailedTries } from './tries.js';

/** One job: why it does not run, what it is given, what came of it. */
export function Job({ params: { groupId = '', jobId = '' } }: ViewProps): ReactNode {
  const { data: job, error } = useAsk('getJob', { params: { groupId, jobId } }, { keepsShown: false });
  return (
    <>
      <PageHead
        title={shownText(jobId)}
        mark={
          <>
            <Copyable text={jobId} label="the id" isBare />
            {job && <Status status={job.status} />}
          </>
        }
        above={[
          ['Groups', hrefOf('groups')],
          [shownText(groupId), hrefOf('group', { groupId })],
          ['Jobs', hrefOf('jobs', { groupId })],
        ]}
      />
      {error && !job && <ProblemNote error={error} />}
      {job && <Parts key={`${groupId} ${jobId}`} job={job} />}
    </>
  );
}

/** What holds them back is over. Of a cancelled one it is told who has cancelled it. */
const ENDED: readonly JobDetailBody['status'][] = ['COMPLETED', 'FAILED'];

function Parts({ job }: { readonly job: JobDetailBody }): ReactNode {
  return (
    <>
      {job.place === 'DEAD' && <DeadLetter job={job} />}
      {!ENDED.includes(job.status) && <WhyWaiting job={job} />}
      <JobFacts job={job} />
      {job.failedAttempts.length > 0 && <FailedTries tries={job.failedAttempts} />}
      <JobData job={job} />
    </>
  );
}

function WhyWaiting({ job: { groupId, id: jobId } }: { readonly job: JobDetailBody }): ReactNode {
  const { data, error, dataUpdatedAt } = useAsk(
    'explainJob',
    { params: { groupId, jobId } },
    { keepsShown: false },
  );
  const title = data && !isWaiting(data) ? 'Where it is' : 'Why does it wait?';
  return (
    <Card
      title={title}
      note={
        data &&
        isWaiting(data) &&
        'Everything that must change before it runs, in the order in which it meets it'
      }
    >
      {error && !data && <ProblemNote error={error} />}
      <div className="job-why">{data && <Explain explanation={data} answeredAt={dataUpdatedAt} />}</div>
    </Card>
  );
}
