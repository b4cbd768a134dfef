import type { ResponseOf } from '@millrace/contract/server-client';
import type { ReactNode } from 'react';
import { useAct } from '../../data/act.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { JsonView } from '../../parts/long-text.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Facts } from '../../parts/stat.js';
import { Status } from '../../parts/status.js';
import { Ago, Lasted } from '../../parts/when.js';
import { countText } from '../../rules/amounts.js';
import { parentsOf, taskState } from '../../rules/batch-tasks.js';
import { shownText } from '../../rules/written-json.js';
import { useTaskResults } from './task-results.js';

type Details = ResponseOf<'getBatch'>;
type Task = Details['tasks'][number];

/** More of those that a task waits for are found in the table. */
const PARENTS_SHOWN = 12;

interface Props {
  readonly details: Details;
  /** Tasks that did not come with the batch. */
  readonly others: readonly Task[];
  readonly taskKey: string;
  readonly onChoose: (key: string) => void;
}

/** One task: where it is, what it was given, what it gave, why it failed; and runs it again. */
export function TaskPanel({ details, others, taskKey, onChoose }: Props): ReactNode {
  const isIt = ({ key }: Task) => key === taskKey;
  const task = details.tasks.find(isIt) ?? others.find(isIt);
  return (
    <div className="stack">
      <header className="row spread batch-panel-head">
        <h2 className="mono">{shownText(taskKey)}</h2>
        <Button look="quiet" icon="close" iconOnly onClick={() => onChoose('')}>
          Close this task
        </Button>
      </header>
      {task ? (
        <TaskDetails details={details} task={task} onChoose={onChoose} />
      ) : (
        <Empty title="It is not among the tasks that are shown">
          <p>Look for it in the table.</p>
        </Empty>
      )}
    </div>
  );
}

interface DetailsProps extends Omit<Props, 'taskKey' | 'others'> {
  readonly task: Task;
}

function TaskDetails({ details, task, onChoose }: DetailsProps): ReactNode {
  const parents = parentsOf(details.edges).get(task.key) ?? [];
  return (
    <>
      <div className="row spread">
        <Status status={taskState(task)} />
        <RetryTask batchId={details.batch.id} task={task} />
      </div>
      {task.error && (
        <section className="batch-error" aria-label="Error">
          <code className="tone-fail">{shownText(task.error.code)}</code>
          <p className="batch-message">{shownText(task.error.message)}</p>
          <p className="small quiet">
            <Ago at={task.error.at} />
          </p>
        </section>
      )}
      <Facts facts={factsOf(task)} />
      {parents.length > 0 && (
        <section className="stack batch-part">
          <h3>Waits for</h3>
          <div className="row">
            {parents.slice(0, PARENTS_SHOWN).map((key) => (
              <Button key={key} onClick={() => onChoose(key)}>
                <span className="unseen">Show </span>
                {shownText(key)}
              </Button>
            ))}
            {parents.length > PARENTS_SHOWN && (
              <span className="quiet small">and {countText(parents.length - PARENTS_SHOWN)} more</span>
            )}
          </div>
        </section>
      )}
      <GivenAndGave details={details} task={task} parents={parents} />
    </>
  );
}

function RetryTask({
  batchId,
  task: { key, status },
}: {
  readonly batchId: string;
  readonly task: Task;
}): ReactNode {
  const { may } = useSession();
  const retry = useAct('retryBatchTask', { done: () => `${shownText(key)} runs again` });
  if (status !== 'FAILED' || !may('operate')) return null;
  return (
    <Button
      look="main"
      icon="retry"
      isBusy={retry.isPending}
      onClick={() => retry.mutate({ params: { batchId, taskKey: key } })}
    >
      Retry this task
    </Button>
  );
}

const SKIPPED_BY = { condition: 'By its condition', cascade: 'Because of others' } as const;

function factsOf(task: Task): Parameters<typeof Facts>[0]['facts'] {
  const lost = task.lost > 0 ? `, ${countText(task.lost)} lost by a worker` : '';
  return [
    ['Tries', `${countText(task.attempts)} of ${countText(task.attemptsMax)}${lost}`],
    ['Took', <Lasted key="took" from={task.startedAt} to={task.endedAt} />],
    ['Started', <Ago key="started" at={task.startedAt} />],
    task.endedAt !== null && ['Ended', <Ago key="ended" at={task.endedAt} />],
    task.status === 'READY' && !task.waiting && ['Not before', <Ago key="visible" at={task.visibleAt} />],
    task.leaseUntil !== null && ['Its worker has it until', <Ago key="lease" at={task.leaseUntil} />],
    task.skippedBy !== null && ['Skipped', SKIPPED_BY[task.skippedBy]],
    task.addedBy !== null && ['Added while it ran, by', shownText(task.addedBy)],
    ['Handler', <code key="handler">{shownText(task.handler)}</code>],
    ['Mode', task.mode === 'transactional' ? 'Transactional' : 'External'],
    task.workerId !== null && ['Worker', <code key="worker">{shownText(task.workerId)}</code>],
  ];
}

function GivenAndGave({
  details,
  task,
  parents,
}: {
  readonly details: Details;
  readonly task: Task;
  readonly parents: readonly string[];
}): ReactNode {
  const { data, error } = useTaskResults(details, [task.key, ...parents]);
  const inputs = parents
    .filter((key) => data?.byKey.has(key))
    .map((key) => [key, data?.byKey.get(key)] as const);
  return (
    <>
      {error && <ProblemNote error={error} />}
      {data?.isPartial && <p className="quiet small">Some results are too far down the list to be shown.</p>}
      {task.status === 'DONE' && (
        <section className="stack batch-part">
          <h3>Result</h3>
          {data?.byKey.has(task.key) ? (
            <JsonView label="Result" value={data.byKey.get(task.key)} />
          ) : (
            <div className="batch-result-awaited" />
          )}
        </section>
      )}
      {inputs.length > 0 && (
        <section className="stack batch-part">
          <h3>Inputs</h3>
          <JsonView label="Results of what it waits for" value={Object.fromEntries(inputs)} />
        </section>
      )}
      <section className="stack batch-part">
        <h3>Payload of the batch</h3>
        <JsonView label="Payload of the batch" value={details.batch.payload} />
      </section>
    </>
  );
}
