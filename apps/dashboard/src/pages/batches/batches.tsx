import type { ResponseOf } from '@millrace/contract/server-client';
import { type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useCursorPages } from '../../data/cursor-pages.js';
import { useFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Choice } from '../../parts/field.js';
import { FilterField } from '../../parts/filter-field.js';
import { Meter } from '../../parts/meter.js';
import { PageHead } from '../../parts/page-head.js';
import { Pager } from '../../parts/pager.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Status } from '../../parts/status.js';
import { type Column, Table } from '../../parts/table.js';
import { Ago, Lasted } from '../../parts/when.js';
import { countText } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { statusText, toneOf } from '../../rules/tones.js';
import { shownText } from '../../rules/written-json.js';
import './batches.css';
import { KnownDags } from './known-dags.js';
import { Schedules } from './schedules.js';

type BatchRow = ResponseOf<'listBatches'>['items'][number];

const PAGE_SIZE = 50;
/** As long as tenants and business keys may be. */
const TEXT_MAX = 500;
const STATUSES = ['RUNNING', 'DONE', 'FAILED', 'ABORTED'] as const;
type BatchStatus = (typeof STATUSES)[number];

/** All runs of DAGs, newest first. */
export function Batches(): ReactNode {
  const { seesAll } = useSession();
  const { values, set } = useFilters('dag', 'status', 'tenant', 'bizKey');
  const pages = useCursorPages(JSON.stringify(values));
  const { dag, tenant, bizKey } = values;
  const status = STATUSES.find((name) => name === values.status);
  const query = {
    limit: PAGE_SIZE,
    ...(dag && { dag }),
    ...(status && { status }),
    ...(tenant && { tenant }),
    ...(bizKey && { bizKey }),
    ...(pages.cursor !== undefined && { cursor: pages.cursor }),
  };
  const { data, error } = useAsk('listBatches', { query });
  const isFiltered = Object.values(values).some((value) => value !== '');
  const columns = useMemo(
    () =>
      columnsFor({ seesAll, hasSchedules: data?.items.some(({ schedule }) => schedule !== null) ?? false }),
    [seesAll, data],
  );
  return (
    <>
      <PageHead title="Batches" note="Runs of DAGs: tasks that wait for each other, each done once" />
      <KnownDags chosen={dag} onChoose={(name) => set({ dag: name })} />
      <Schedules />
      <Card
        isFlush
        title="Runs"
        note="Newest first"
        aside={<BatchFilters values={values} set={set} status={status} />}
      >
        {error && !data ? (
          <ProblemNote error={error} />
        ) : (
          <Table
            label="Batches"
            columns={columns}
            rows={data?.items}
            rowKey={({ id }) => id}
            awaited={10}
            empty={
              isFiltered ? (
                <NoneOfThese onClear={() => set({ dag: '', status: '', tenant: '', bizKey: '' })} />
              ) : (
                <NoBatch />
              )
            }
          />
        )}
      </Card>
      <Pager pages={pages} nextCursor={data?.cursor} label="batches" />
    </>
  );
}

interface BatchFiltersProps {
  readonly values: Readonly<Record<'dag' | 'tenant' | 'bizKey', string>>;
  readonly status: BatchStatus | undefined;
  readonly set: (change: Partial<Record<'dag' | 'status' | 'tenant' | 'bizKey', string>>) => void;
}

function BatchFilters({ values, status, set }: BatchFiltersProps): ReactNode {
  const { seesAll } = useSession();
  const { data } = useAsk('listDags', { query: {} });
  const names = new Set(data?.items.map(({ name }) => name));
  // One that is asked for is shown, also when its DAG is not known any more.
  if (values.dag) names.add(values.dag);
  return (
    <search className="row batches-filters">
      <Choice
        label="DAG"
        value={values.dag}
        options={[['', 'All DAGs'], ...[...names].map((name) => [name, shownText(name)] as const)]}
        onChoose={(dag) => set({ dag })}
      />
      <Choice
        label="State"
        value={status ?? ''}
        options={[['', 'All states'], ...STATUSES.map((name) => [name, statusText(name)] as const)]}
        onChoose={(name) => set({ status: name })}
      />
      {seesAll && (
        <FilterField
          label="Tenant"
          maxLength={TEXT_MAX}
          value={values.tenant}
          onTake={(tenant) => set({ tenant })}
        />
      )}
      <FilterField
        label="Business key"
        maxLength={TEXT_MAX}
        value={values.bizKey}
        onTake={(bizKey) => set({ bizKey })}
      />
    </search>
  );
}

/** For those who see the batches of all tenants. */
const TENANT_COLUMN: Column<BatchRow> = {
  key: 'tenant',
  title: 'Tenant',
  width: 'minmax(90px, 1fr)',
  isExtra: true,
  cell: ({ tenant }) => (tenant === '' ? <span className="quiet">nobody’s</span> : shownText(tenant)),
};

/** Where schedules have started some of them. */
const SCHEDULE_COLUMN: Column<BatchRow> = {
  key: 'schedule',
  title: 'Schedule',
  width: 'minmax(80px, 1fr)',
  isExtra: true,
  cell: ({ schedule }) => (schedule === null ? <span className="quiet">–</span> : shownText(schedule)),
};

function columnsFor({
  seesAll,
  hasSchedules,
}: {
  readonly seesAll: boolean;
  readonly hasSchedules: boolean;
}): readonly Column<BatchRow>[] {
  const all: readonly (Column<BatchRow> | false)[] = [
    {
      key: 'bizKey',
      title: 'Batch',
      width: 'minmax(110px, 2fr)',
      cell: ({ id, bizKey }) => (
        <Link className="mono" href={hrefOf('batch', { batchId: id })} title={`Batch ${id}`}>
          {shownText(bizKey)}
        </Link>
      ),
    },
    {
      key: 'dag',
      title: 'DAG',
      width: 'minmax(110px, 1.2fr)',
      isExtra: true,
      cell: ({ dag, dagVersion }) => (
        <>
          {shownText(dag)} <span className="quiet small">v{dagVersion}</span>
        </>
      ),
    },
    seesAll && TENANT_COLUMN,
    { key: 'status', title: 'State', width: '88px', cell: ({ status }) => <Status status={status} /> },
    {
      key: 'progress',
      title: 'Tasks ended',
      width: 'minmax(74px, 1.2fr)',
      cell: (row) => <Progress row={row} />,
    },
    {
      key: 'run',
      title: 'Run',
      width: '40px',
      isNumber: true,
      isExtra: true,
      cell: ({ runNo }) => countText(runNo),
    },
    hasSchedules && SCHEDULE_COLUMN,
    {
      key: 'created',
      title: 'Started',
      width: '84px',
      isNumber: true,
      isExtra: true,
      cell: ({ createdAt }) => <Ago at={createdAt} />,
    },
    {
      key: 'lasted',
      title: 'Took',
      width: '80px',
      isNumber: true,
      isExtra: true,
      cell: ({ createdAt, endedAt }) => <Lasted from={createdAt} to={endedAt} />,
    },
  ];
  return all.filter((column) => column !== false);
}

function Progress({ row }: { readonly row: BatchRow }): ReactNode {
  const { taskCount, openCount, status, bizKey } = row;
  const ended = taskCount - openCount;
  return (
    <span className="batches-progress">
      <Meter
        label={`Tasks of ${shownText(bizKey)}`}
        total={taskCount}
        parts={[{ label: `of ${countText(taskCount)} ended`, value: ended, tone: toneOf(status) }]}
      />
      <span className="number small quiet">
        {countText(ended)}/{countText(taskCount)}
      </span>
    </span>
  );
}

function NoBatch(): ReactNode {
  return (
    <Empty title="No batch has been started yet">
      <p>
        A batch is one run of a DAG. Start one with <code>POST /api/batches</code>, or let a schedule do it.
      </p>
    </Empty>
  );
}

function NoneOfThese({ onClear }: { readonly onClear: () => void }): ReactNode {
  return (
    <Empty title="No batch is like this">
      <div className="stack">
        <p>Tenant and business key are looked for as a whole.</p>
        <div>
          <Button onClick={onClear}>Show all</Button>
        </div>
      </div>
    </Empty>
  );
}
