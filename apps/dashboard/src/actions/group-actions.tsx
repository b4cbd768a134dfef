import type { GroupBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { useAct } from '../data/act.js';
import { useSession } from '../data/session.js';
import { Button } from '../parts/button.js';
import { hasEnded } from '../rules/group-progress.js';
import { shownText } from '../rules/written-json.js';
import { GroupCancelDialog, GroupLimitsDialog } from './group-dialogs.js';

/** What is decided about a group in a dialog. */
type GroupDecision = 'limits' | 'cancel';

/** Opens the dialog of a decision about a group. */
export type DecideGroup = (decision: GroupDecision, group: GroupBody) => void;

/**
 * The dialogs of groups, for whoever shows buttons of many. They belong to the page and not to a row: a row that moves out of the
 * list must not take away what somebody is typing.
 */
export function useGroupDialogs(): { readonly decide: DecideGroup; readonly dialog: ReactNode } {
  const [open, setOpen] = useState<{ readonly decision: GroupDecision; readonly group: GroupBody }>();
  const close = () => setOpen(undefined);
  const Shown = open?.decision === 'limits' ? GroupLimitsDialog : GroupCancelDialog;
  return {
    decide: (decision, group) => setOpen({ decision, group }),
    dialog: open && <Shown key={open.group.id} group={open.group} onClose={close} />,
  };
}

/** The buttons of one group. */
export interface GroupButtonsProps {
  readonly group: GroupBody;
  readonly decide: DecideGroup;
  /** Icons alone, for rows of a table; their names say which group. */
  readonly isCompact?: boolean;
}

/** Pauses, resumes, limits and cancels a group. Nothing for those who may not, and for one that has ended. */
export function GroupButtons({ group, decide, isCompact = false }: GroupButtonsProps): ReactNode {
  const { may } = useSession();
  const change = useAct('changeGroup', {
    done: ({ id, paused }) =>
      paused ? `${shownText(id)} is paused: none of its jobs starts.` : `${shownText(id)} goes on.`,
  });
  if (!may('operate') || hasEnded(group)) return null;
  const { id, paused } = group;
  const name = (does: string) => (isCompact ? `${does} ${shownText(id)}` : does);
  const look = { look: isCompact ? 'quiet' : 'plain', iconOnly: isCompact } as const;
  return (
    <>
      <Button
        {...look}
        icon={paused ? 'play' : 'pause'}
        isBusy={change.isPending}
        onClick={() => change.mutate({ params: { groupId: id }, body: { paused: !paused } })}
      >
        {name(paused ? 'Resume' : 'Pause')}
      </Button>
      <Button {...look} icon="settings" onClick={() => decide('limits', group)}>
        {isCompact ? `Limits of ${shownText(id)}` : 'Limits…'}
      </Button>
      <Button
        {...look}
        look={isCompact ? 'quiet' : 'danger'}
        icon="close"
        onClick={() => decide('cancel', group)}
      >
        {isCompact ? `Cancel ${shownText(id)}` : 'Cancel…'}
      </Button>
    </>
  );
}

/** Everything that can be done to the one group that a page is about. */
export function GroupActions({ group }: { readonly group: GroupBody }): ReactNode {
  const { decide, dialog } = useGroupDialogs();
  return (
    <>
      <GroupButtons group={group} decide={decide} />
      {dialog}
    </>
  );
}
