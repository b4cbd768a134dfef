import type { JobBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Card } from '../../parts/card.js';
import { Copyable } from '../../parts/copyable.js';
import { Facts } from '../../parts/stat.js';
import { Ago, Lasted } from '../../parts/when.js';
import { counted, countText } from '../../rules/amounts.js';
import { placeText } from '../../rules/job-waits.js';
import { shownText } from '../../rules/written-json.js';

/** What is known of a job beside its data. */
export function JobFacts({ job }: { readonly job: JobBody }): ReactNode {
  const when = (name: string, at: string | null) =>
    at !== null && ([name, <Ago key={name} at={at} />] as const);
  return (
    <Card title="The job">
      <Facts
        facts={[
          ['Processor', <code key="processor">{shownText(job.processorType)}</code>],
          ['Place', placeText(job.place)],
          ['Tries', countText(job.attempts)],
          ['Retries', countText(job.retryCount)],
          ['Lost by a worker', counted(job.orphanCount, 'time')],
          ['Cost', countText(job.cost)],
          ['Created', <Ago key="created" at={job.createdAt} />],
          when('Not before', job.notBefore),
          when('Deadline', job.deadline),
          when('May go on', job.dueAt),
          ['Last try began', <Ago key="started" at={job.startedAt} />],
          ['Ended', <Ago key="ended" at={job.endedAt} />],
          job.startedAt !== null &&
            job.endedAt !== null && [
              'Last try took',
              <Lasted key="took" from={job.startedAt} to={job.endedAt} />,
            ],
        ]}
      />
      {job.traceparent !== null && (
        <p className="job-trace">
          <span className="small quiet">Trace</span>
          <Copyable text={shownText(job.traceparent)} label="the trace context" />
        </p>
      )}
    </Card>
  );
}
