import type { BatchTaskSummary } from '@millrace/contract';
import type { ResponseOf } from '@millrace/contract/server-client';
import { type ReactNode, useMemo } from 'react';
import { Card } from '../../parts/card.js';
import { Choice } from '../../parts/field.js';
import { Pager } from '../../parts/pager.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Status } from '../../parts/status.js';
import { type Column, Table } from '../../parts/table.js';
import { Lasted } from '../../parts/when.js';
import { countText } from '../../rules/amounts.js';
import { chainText, parentsOf, taskState } from '../../rules/batch-tasks.js';
import { statusText } from '../../rules/tones.js';
import { shownText } from '../../rules/written-json.js';
import { TASK_STATES, type TaskRows } from './task-rows.js';

/** What the page calls them otherwise. */
const STATE_NAMES: Readonly<Record<string, string>> = { PROCESSING: 'Running', READY: 'Ready or waiting' };

/** The tasks of a batch as a table: all that the picture says, for those who do not look at pictures. */
export function BatchTasks({
  details,
  tasks,
  chosen,
  onChoose,
}: {
  readonly details: ResponseOf<'getBatch'>;
  readonly tasks: TaskRows;
  readonly chosen: string;
  readonly onChoose: (key: string) => void;
}): ReactNode {
  const { edges, batch } = details;
  const columns = useMemo(() => columnsFor(parentsOf(edges), chosen, onChoose), [edges, chosen, onChoose]);
  return (
    <Card
      isFlush
      title="Tasks"
      note={`${countText(batch.taskCount)} in all`}
      aside={
        <Choice
          label="State of the tasks"
          value={tasks.status ?? ''}
          options={[
            ['', 'All states'],
            ...TASK_STATES.map((name) => [name, STATE_NAMES[name] ?? statusText(name)] as const),
          ]}
          onChoose={tasks.choose}
        />
      }
    >
      {tasks.error && !tasks.rows ? (
        <ProblemNote error={tasks.error} />
      ) : (
        <Table
          label="Tasks"
          columns={columns}
          rows={tasks.rows}
          rowKey={({ id }) => id}
          empty={<Empty title="No task is in this state" />}
        />
      )}
      <Pager pages={tasks.pages} nextCursor={tasks.nextCursor} label="tasks" />
    </Card>
  );
}

const columnsFor = (
  parents: ReadonlyMap<string, readonly string[]>,
  chosen: string,
  onChoose: (key: string) => void,
): readonly Column<BatchTaskSummary>[] => [
  {
    key: 'key',
    title: 'Task',
    width: 'minmax(100px, 1.2fr)',
    cell: ({ key }) => (
      <button
        type="button"
        className="mono batch-task-key"
        aria-pressed={key === chosen}
        title={shownText(key)}
        onClick={() => onChoose(key)}
      >
        <span className="unseen">Show </span>
        {shownText(key)}
      </button>
    ),
  },
  { key: 'state', title: 'State', width: '100px', cell: (task) => <Status status={taskState(task)} /> },
  {
    key: 'parents',
    title: 'Waits for',
    width: 'minmax(120px, 1.4fr)',
    isExtra: true,
    cell: ({ key }) => <WaitsFor keys={parents.get(key) ?? []} />,
  },
  {
    key: 'tries',
    title: 'Tries',
    width: '56px',
    isNumber: true,
    isExtra: true,
    cell: ({ attempts, attemptsMax }) => `${countText(attempts)}/${countText(attemptsMax)}`,
  },
  {
    key: 'took',
    title: 'Took',
    width: '64px',
    isNumber: true,
    cell: ({ startedAt, endedAt }) => <Lasted from={startedAt} to={endedAt} />,
  },
  {
    key: 'error',
    title: 'Error',
    width: 'minmax(140px, 2.4fr)',
    isExtra: true,
    cell: ({ error }) =>
      error && (
        <span title={shownText(error.message)}>
          <code className="tone-fail small">{shownText(error.code)}</code>{' '}
          <span className="quiet">{shownText(error.message)}</span>
        </span>
      ),
  },
];

function WaitsFor({ keys }: { readonly keys: readonly string[] }): ReactNode {
  if (keys.length === 0) return <span className="quiet">nothing</span>;
  return <span className="mono small">{shownText(chainText(keys, ', '))}</span>;
}
