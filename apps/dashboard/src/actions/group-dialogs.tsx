import type { GroupBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { useAct } from '../data/act.js';
import { useAsk } from '../data/ask.js';
import { Dialog } from '../parts/dialog.js';
import { Choice } from '../parts/field.js';
import { counted, countText } from '../rules/amounts.js';
import { limitsChange, typedLimits } from '../rules/limits.js';
import { problemText } from '../rules/problems.js';
import { shownText } from '../rules/written-json.js';
import { LimitsFields } from './limits-fields.js';

/** What the dialogs of a group are about. */
export interface GroupDialogProps {
  /** As it was when the dialog was opened. */
  readonly group: GroupBody;
  readonly onClose: () => void;
}

const PRIORITIES = [
  ['high', 'High'],
  ['normal', 'Normal'],
  ['low', 'Low'],
] as const;
type Priority = GroupBody['priorityLevel'];

/** Changes weight, priority and limits of a group; work that is queued already is held to them at once. */
export function GroupLimitsDialog({ group, onClose }: GroupDialogProps): ReactNode {
  const [typed, setTyped] = useState(() => typedLimits(group));
  const [priorityLevel, setPriority] = useState<Priority>(group.priorityLevel);
  const change = useAct('changeGroup', {
    done: ({ id }) => `${shownText(id)} has other limits now.`,
    saysProblems: false,
  });
  const save = () => {
    const body = {
      ...limitsChange(group, typed),
      ...(priorityLevel !== group.priorityLevel && { priorityLevel }),
    };
    if (Object.keys(body).length === 0) onClose();
    else change.mutate({ params: { groupId: group.id }, body }, { onSuccess: onClose });
  };
  return (
    <Dialog
      title={`Limits of ${shownText(group.id)}`}
      confirm="Save limits"
      isBusy={change.isPending}
      problem={change.error ? problemText(change.error) : undefined}
      onConfirm={save}
      onClose={onClose}
    >
      <LimitsFields typed={typed} onType={setTyped} weightHint="Against other groups of its tenant">
        <Choice
          label="Priority"
          isBare={false}
          value={priorityLevel}
          options={PRIORITIES}
          onChoose={(level) => setPriority(level as Priority)}
        />
      </LimitsFields>
    </Dialog>
  );
}

/** Cancels a group after it was said how much is lost by it. */
export function GroupCancelDialog({ group, onClose }: GroupDialogProps): ReactNode {
  // How many are left is asked for again while somebody thinks about it.
  const { data } = useAsk('getGroup', { params: { groupId: group.id } });
  const { pending, inFlight, done } = (data ?? group).progress;
  const cancel = useAct('cancelGroup', {
    done: ({ changed, group: { id } }) =>
      changed ? `${shownText(id)} is cancelled.` : `${shownText(id)} had ended already.`,
    saysProblems: false,
  });
  const left = pending + inFlight;
  return (
    <Dialog
      title={`Cancel ${shownText(group.id)}?`}
      confirm={left > 0 ? `Cancel ${counted(left, 'job')}` : 'Cancel the group'}
      dismiss="Let it run"
      look="danger"
      isBusy={cancel.isPending}
      problem={cancel.error ? problemText(cancel.error) : undefined}
      onConfirm={() => cancel.mutate({ params: { groupId: group.id } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>
        {counted(left, 'job is', 'jobs are')} left. The {countText(pending)} that wait will never start, the{' '}
        {countText(inFlight)} that run are told to stop; the {countText(done)} that have ended stay as they
        are.
      </p>
      <p>This cannot be taken back.</p>
    </Dialog>
  );
}
