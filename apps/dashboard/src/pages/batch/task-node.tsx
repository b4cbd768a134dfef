import { Handle, type NodeProps, Position } from '@xyflow/react';
import { memo, type ReactNode } from 'react';
import { Ago, Lasted } from '../../parts/when.js';
import { taskState } from '../../rules/batch-tasks.js';
import { statusText, toneOf } from '../../rules/tones.js';
import { shownText } from '../../rules/written-json.js';
import type { TaskNode } from './drawn-dag.js';

type Task = TaskNode['data']['task'];

/** States whose line says something else; shape and colour say them to those who see them. */
const UNNAMED: readonly string[] = ['DONE', 'FAILED'];

/** A task: its key, its state, and the one thing that matters in it. */
export const LargeTask = memo(function LargeTask({ data: { task, flow } }: NodeProps<TaskNode>): ReactNode {
  const state = taskState(task);
  const tone = toneOf(state);
  return (
    <div className={`batch-node large state-${state.toLowerCase()}`} title={shownText(task.key)}>
      <span className={`batch-node-side fill-${tone}`} />
      <span className={`status-mark mark-${tone} tone-${tone}`} />
      <span className="batch-node-key mono">{shownText(task.key)}</span>
      {task.attempts > 1 && <span className="batch-node-tries number">{task.attempts} tries</span>}
      {task.addedBy !== null && <span className="batch-node-tries">added</span>}
      <span className={`batch-node-line tone-${tone}`}>
        {UNNAMED.includes(state) && <span className="unseen">{statusText(state)}</span>}
        <Line task={task} state={state} />
      </span>
      <Ends flow={flow} />
    </div>
  );
});

/** One of very many tasks: its key and its state. */
export const SmallTask = memo(function SmallTask({ data: { task, flow } }: NodeProps<TaskNode>): ReactNode {
  const state = taskState(task);
  const tone = toneOf(state);
  return (
    <div
      className={`batch-node small tone-bg-${tone} state-${state.toLowerCase()}`}
      title={shownText(task.key)}
    >
      <span className={`status-mark mark-${tone}`} />
      <span className="batch-node-key mono">{shownText(task.key)}</span>
      <span className="unseen">{statusText(state)}</span>
      <Ends flow={flow} />
    </div>
  );
});

function Line({ task, state }: { readonly task: Task; readonly state: string }): ReactNode {
  switch (state) {
    case 'DONE':
      return <Lasted from={task.startedAt} to={task.endedAt} />;
    case 'RUNNING':
      return (
        <>
          Running <Lasted from={task.startedAt} to={null} />
        </>
      );
    case 'FAILED':
      return shownText(task.error?.code ?? 'Failed');
    case 'READY':
      return task.attempts > 0 ? (
        <>
          Ready again <Ago at={task.visibleAt} />
        </>
      ) : (
        'Ready'
      );
    case 'SKIPPED':
      return task.skippedBy === 'condition' ? 'Skipped by its condition' : 'Skipped because of others';
    default:
      return statusText(state);
  }
}

/** Where edges end; nobody can draw new ones. */
function Ends({ flow }: { readonly flow: TaskNode['data']['flow'] }): ReactNode {
  const isRight = flow === 'right';
  return (
    <>
      <Handle type="target" position={isRight ? Position.Left : Position.Top} isConnectable={false} />
      <Handle type="source" position={isRight ? Position.Right : Position.Bottom} isConnectable={false} />
    </>
  );
}
