import type { InstanceBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../data/act.js';
import { Dialog } from '../../parts/dialog.js';
import { Field } from '../../parts/field.js';
import { counted, countText } from '../../rules/amounts.js';
import { instanceName, WORKERS_MAX, workersWished } from '../../rules/fleet.js';
import { problemText } from '../../rules/problems.js';
import { shownText } from '../../rules/written-json.js';

/** Changes how many workers an instance has, or each of them. */
export function ScalePool({
  instances,
  isAll,
  onClose,
}: {
  /** Whose workers. */
  readonly instances: readonly InstanceBody[];
  /** Also those that nobody has seen yet. */
  readonly isAll: boolean;
  readonly onClose: () => void;
}): ReactNode {
  const [first] = instances;
  const [text, setText] = useState(String(first?.wantedWorkers ?? first?.workerCount ?? ''));
  const act = useAct('scalePool', {
    saysProblems: false,
    done: ({ workerCount, instances: told }) =>
      `${counted(told.length, 'instance was', 'instances were')} told to have ${counted(workerCount, 'worker')}.`,
  });
  const wished = workersWished(text);
  const whose = isAll
    ? `${counted(instances.length, 'instance')}`
    : shownText(first ? instanceName(first) : '');
  const scale = () => {
    if (wished === undefined) return;
    const body = { workerCount: wished, ...(!isAll && first && { instance: first.instanceId }) };
    act.mutate({ body }, { onSuccess: onClose });
  };
  return (
    <Dialog
      title={isAll ? 'Scale all instances' : `Scale ${whose}`}
      confirm={`Scale ${whose} to ${wished === undefined ? '…' : countText(wished)}${isAll && instances.length > 1 ? ' each' : ''}`}
      look={wished === 0 ? 'danger' : 'main'}
      isBusy={act.isPending}
      problem={act.error ? problemText(act.error) : undefined}
      onConfirm={scale}
      onClose={onClose}
    >
      <Field
        label={isAll ? 'Workers of each instance' : 'Workers'}
        type="number"
        inputMode="numeric"
        required
        min={0}
        max={WORKERS_MAX}
        step={1}
        value={text}
        hint={`0 to ${countText(WORKERS_MAX)}`}
        onChange={(event) => setText(event.target.value)}
      />
      <p>
        It lasts until {isAll ? 'an instance' : 'the instance'} is restarted: then what is configured holds
        again. Surplus workers finish their job first.
      </p>
      {wished === 0 && (
        <p className="tone-fail">
          Without workers jobs wait{isAll ? '' : ' unless other instances have some'}, until somebody scales
          them up again.
        </p>
      )}
    </Dialog>
  );
}
