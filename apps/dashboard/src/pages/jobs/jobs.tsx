import type { JobBody, JobStatusName } from '@millrace/contract';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useAsk } from '../../data/ask.js';
import { useCursorPages } from '../../data/cursor-pages.js';
import { useFilters } from '../../data/filters.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Choice, Field } from '../../parts/field.js';
import { PageHead } from '../../parts/page-head.js';
import { Pager } from '../../parts/pager.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Table } from '../../parts/table.js';
import { hrefOf, type ViewProps } from '../../rules/hrefs.js';
import { problemCode } from '../../rules/problems.js';
import { statusText } from '../../rules/tones.js';
import { shownText } from '../../rules/written-json.js';
import { JOB_COLUMNS } from './job-columns.js';
import './jobs.css';

const PAGE_SIZE = 50;
const STATES: readonly JobStatusName[] = ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED'];

/** The jobs of a group: by state, or the one of an id. */
export function Jobs({ params: { groupId = '' } }: ViewProps): ReactNode {
  const { values, set } = useFilters('id', 'state');
  const state = STATES.find((one) => one === values.state);
  return (
    <>
      <PageHead
        title={`Jobs of ${shownText(groupId)}`}
        above={[
          ['Groups', hrefOf('groups')],
          [shownText(groupId), hrefOf('group', { groupId })],
        ]}
      />
      <Card isFlush>
        <div className="row jobs-filters">
          {/* Another id in the address is another search. */}
          <Search key={values.id} id={values.id} onSearch={(id) => set({ id })} />
          {values.id === '' && (
            <Choice
              label="State"
              value={state ?? ''}
              options={[['', 'Every state'], ...STATES.map((one) => [one, statusText(one)] as const)]}
              onChoose={(chosen) => set({ state: chosen })}
            />
          )}
        </div>
        {values.id === '' ? (
          <JobList groupId={groupId} state={state} />
        ) : (
          <JobOfId groupId={groupId} jobId={values.id} />
        )}
      </Card>
    </>
  );
}

interface SearchProps {
  readonly id: string;
  readonly onSearch: (id: string) => void;
}

function Search({ id, onSearch }: SearchProps): ReactNode {
  const [typed, setTyped] = useState(id);
  const search = (event: FormEvent) => {
    event.preventDefault();
    onSearch(typed.trim());
  };
  return (
    <search>
      <form className="row jobs-search" onSubmit={search}>
        <Field
          label="Id of a job"
          isBare
          placeholder="Id of a job, whole"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button type="submit" icon="search">
          Find
        </Button>
        {id !== '' && (
          <Button look="quiet" icon="close" onClick={() => onSearch('')}>
            All jobs
          </Button>
        )}
      </form>
    </search>
  );
}

const label = 'Jobs of the group';
const rowKey = ({ id }: JobBody): string => id;

function JobList({
  groupId,
  state,
}: {
  readonly groupId: string;
  readonly state: JobStatusName | undefined;
}): ReactNode {
  const pages = useCursorPages(`${groupId} ${state}`);
  const { cursor } = pages;
  const { data, error } = useAsk('listJobs', {
    params: { groupId },
    query: { limit: PAGE_SIZE, ...(state && { state }), ...(cursor !== undefined && { cursor }) },
  });
  if (error && !data)
    return (
      <div className="jobs-said">
        <ProblemNote error={error} />
      </div>
    );
  const empty = data?.cursor ? (
    <Empty title="None so far">The server has looked at thousands of jobs. Go on with the next page.</Empty>
  ) : (
    <Empty title={state ? `No job is ${statusText(state).toLowerCase()}` : 'The group has no jobs'} />
  );
  return (
    <>
      <Table
        label={label}
        columns={JOB_COLUMNS}
        rows={data?.items}
        rowKey={rowKey}
        empty={empty}
        awaited={12}
      />
      <div className="jobs-pager">
        <Pager pages={pages} nextCursor={data?.cursor} label="jobs" words={['Back', 'Next']} />
      </div>
    </>
  );
}

function JobOfId({ groupId, jobId }: { readonly groupId: string; readonly jobId: string }): ReactNode {
  const { data, error } = useAsk('getJob', { params: { groupId, jobId } }, { keepsShown: false });
  if (error && !data && problemCode(error) !== 'JOB_NOT_FOUND')
    return (
      <div className="jobs-said">
        <ProblemNote error={error} />
      </div>
    );
  const rows = data ? [data] : error ? [] : undefined;
  return (
    <Table
      label={label}
      columns={JOB_COLUMNS}
      rows={rows}
      rowKey={rowKey}
      awaited={1}
      empty={
        <Empty title="The group has no such job">
          Ids are looked up whole, with small and capital letters as they are.
        </Empty>
      }
    />
  );
}
