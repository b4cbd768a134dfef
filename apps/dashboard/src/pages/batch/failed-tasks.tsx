import type { ResponseOf } from '@millrace/contract/server-client';
import type { ReactNode } from 'react';
import { JsonView } from '../../parts/long-text.js';
import { counted } from '../../rules/amounts.js';
import { shownText } from '../../rules/written-json.js';

/** More of them are found in the table. */
const SHOWN = 5;

/** What people want to know of a batch while they look at no task of it: what failed, and what it was given. */
export function FailedTasks({
  details: { batch, counts, tasks },
  onChoose,
}: {
  readonly details: ResponseOf<'getBatch'>;
  readonly onChoose: (key: string) => void;
}): ReactNode {
  const shown = tasks.filter(({ status }) => status === 'FAILED').slice(0, SHOWN);
  return (
    <div className="stack">
      {shown.length > 0 && (
        <section className="stack batch-failed" aria-label="Failed tasks">
          <h2>{counted(counts.failed, 'task')} failed</h2>
          {shown.map(({ id, key, error }) => (
            <button key={id} type="button" className="batch-failure" onClick={() => onChoose(key)}>
              <span className="row">
                <span className="unseen">Show </span>
                <strong className="mono">{shownText(key)}</strong>
                <code className="small tone-fail">{shownText(error?.code ?? '')}</code>
              </span>
              <span className="small batch-message">{shownText(error?.message ?? 'No error was kept.')}</span>
            </button>
          ))}
          {counts.failed > shown.length && (
            <p className="quiet small">and {counts.failed - shown.length} more, in the table</p>
          )}
        </section>
      )}
      <section className="stack batch-part">
        <h2>Payload</h2>
        <JsonView label="Payload of the batch" value={batch.payload} />
      </section>
      <p className="quiet small">Choose a task to see what it was given, what it gave, and why it failed.</p>
    </div>
  );
}
