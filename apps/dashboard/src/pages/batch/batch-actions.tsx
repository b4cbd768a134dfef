import type { ResponseOf } from '@millrace/contract/server-client';
import { type ReactNode, useState } from 'react';
import { useAct } from '../../data/act.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { counted } from '../../rules/amounts.js';
import { openTasks, runAgain } from '../../rules/batch-tasks.js';
import { problemText } from '../../rules/problems.js';
import { shownText } from '../../rules/written-json.js';

interface Props {
  readonly details: ResponseOf<'getBatch'>;
}

/** What can be done with a batch, by those who may. */
export function BatchActions({ details }: Props): ReactNode {
  const { may } = useSession();
  const [asks, setAsks] = useState<'retry' | 'abort' | undefined>(undefined);
  if (!may('operate')) return null;
  const { status } = details.batch;
  const close = () => setAsks(undefined);
  return (
    <>
      {(status === 'FAILED' || status === 'ABORTED') && (
        <Button look="main" icon="retry" onClick={() => setAsks('retry')}>
          Retry…
        </Button>
      )}
      {status === 'RUNNING' && (
        <Button look="danger" icon="close" onClick={() => setAsks('abort')}>
          Abort…
        </Button>
      )}
      {asks === 'retry' && <RetryDialog details={details} onClose={close} />}
      {asks === 'abort' && <AbortDialog details={details} onClose={close} />}
    </>
  );
}

function RetryDialog({ details, onClose }: Props & { readonly onClose: () => void }): ReactNode {
  const { batch } = details;
  const again = runAgain(details);
  const retry = useAct('retryBatch', {
    done: () => `${shownText(batch.bizKey)} runs again`,
    saysProblems: false,
  });
  return (
    <Dialog
      title={`Retry ${shownText(batch.bizKey)}?`}
      confirm={`Retry ${counted(again.count, 'task')}`}
      isBusy={retry.isPending}
      problem={retry.error ? problemText(retry.error) : undefined}
      onConfirm={() => retry.mutate({ params: { batchId: batch.id } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>
        What did not succeed runs again: {again.text || 'nothing'}. What is done stays done, and its results
        are used.
      </p>
    </Dialog>
  );
}

function AbortDialog({ details, onClose }: Props & { readonly onClose: () => void }): ReactNode {
  const { batch, counts } = details;
  const open = openTasks(counts);
  const runs = counts.processing;
  const stopped =
    runs > 0 ? `, and ${counted(runs, 'task that runs is', 'tasks that run are')} told to stop` : '';
  const abort = useAct('abortBatch', {
    // One that ended a moment before is as it was.
    done: ({ status }) =>
      status === 'ABORTED' ? `${shownText(batch.bizKey)} is aborted` : 'It had ended already',
    saysProblems: false,
  });
  return (
    <Dialog
      title={`Abort ${shownText(batch.bizKey)}?`}
      look="danger"
      confirm={`Abort ${counted(open, 'open task')}`}
      dismiss="Let it run"
      isBusy={abort.isPending}
      problem={abort.error ? problemText(abort.error) : undefined}
      onConfirm={() => abort.mutate({ params: { batchId: batch.id } }, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>What waits is cancelled{stopped}. What is done stays done, and the batch can be retried.</p>
    </Dialog>
  );
}
