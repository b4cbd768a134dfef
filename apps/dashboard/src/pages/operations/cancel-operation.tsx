import type { OperationBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useAct } from '../../data/act.js';
import { Dialog } from '../../parts/dialog.js';
import { problemText } from '../../rules/problems.js';
import { shownText } from '../../rules/written-json.js';

/** Asks before an operation is given up. */
export function CancelOperation({
  operation: { opId, domain, eventType, bizKey },
  onClose,
}: {
  readonly operation: OperationBody;
  readonly onClose: () => void;
}): ReactNode {
  const cancel = useAct('cancelOperation', {
    saysProblems: false,
    done: ({ cancelled, operation }) =>
      cancelled
        ? 'The operation is cancelled.'
        : operation.endedAt === null
          ? 'The operation is about to end.'
          : 'The operation had ended before.',
  });
  return (
    <Dialog
      title="Cancel this operation?"
      confirm="Cancel 1 operation"
      look="danger"
      dismiss="Keep it"
      isBusy={cancel.isPending}
      problem={cancel.error ? problemText(cancel.error) : undefined}
      onConfirm={() => cancel.mutate({ params: { opId } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>
        <code>{`${domain}.${eventType}`}</code> of <code>{shownText(bizKey)}</code> ends as failed with the
        code <code>CANCELLED</code>, and the work behind it ends too. What that work has done already is not
        undone.
      </p>
    </Dialog>
  );
}
