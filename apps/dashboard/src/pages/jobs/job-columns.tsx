import type { JobBody } from '@millrace/contract';
import { Link } from 'wouter';
import { Status } from '../../parts/status.js';
import type { Column } from '../../parts/table.js';
import { Ago } from '../../parts/when.js';
import { countText } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { placeText, reasonText } from '../../rules/job-waits.js';
import { statusText } from '../../rules/tones.js';
import { shownText } from '../../rules/written-json.js';

/** What a list of jobs says of each. */
export const JOB_COLUMNS: readonly Column<JobBody>[] = [
  {
    key: 'id',
    title: 'Job',
    width: 'minmax(92px, 1.6fr)',
    cell: ({ groupId, id }) => (
      <Link className="mono" href={hrefOf('job', { groupId, jobId: id })} title={shownText(id)}>
        {shownText(id)}
      </Link>
    ),
  },
  {
    key: 'processor',
    title: 'Processor',
    width: 'minmax(90px, 1fr)',
    isExtra: true,
    cell: ({ processorType }) => <code title={shownText(processorType)}>{shownText(processorType)}</code>,
  },
  { key: 'status', title: 'State', width: '108px', cell: ({ status }) => <Status status={status} /> },
  {
    key: 'place',
    title: 'Place',
    width: 'minmax(130px, 1fr)',
    isExtra: true,
    cell: ({ place }) => placeText(place),
  },
  {
    key: 'tries',
    title: 'Tries',
    width: '44px',
    isNumber: true,
    cell: ({ attempts }) => countText(attempts),
  },
  {
    key: 'failed',
    title: 'Failed',
    width: '60px',
    isNumber: true,
    isExtra: true,
    cell: ({ failedAttempts }) => (
      <span className={failedAttempts.length > 0 ? 'tone-fail' : 'quiet'}>
        {countText(failedAttempts.length)}
      </span>
    ),
  },
  {
    key: 'created',
    title: 'Created',
    width: '92px',
    isExtra: true,
    cell: ({ createdAt }) => <Ago at={createdAt} />,
  },
  {
    key: 'ended',
    title: 'Ended',
    width: '92px',
    isExtra: true,
    cell: ({ endedAt }) => <Ago at={endedAt} />,
  },
  {
    key: 'waits',
    title: 'Waits for',
    width: 'minmax(140px, 1.8fr)',
    isExtra: true,
    cell: (job) => <WaitsFor job={job} />,
  },
];

function WaitsFor({ job: { reason, dueAt } }: { readonly job: JobBody }) {
  const why = reasonText(reason);
  if (!why || reason === null) return <span className="quiet">–</span>;
  return (
    <span title={shownText(why)}>
      {statusText(reason)}
      {dueAt && (
        <>
          , <Ago at={dueAt} />
        </>
      )}
    </span>
  );
}
