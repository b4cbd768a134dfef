import type { JobDetailBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Card } from '../../parts/card.js';
import { JsonView } from '../../parts/long-text.js';

/** What a job was given, and what came of it. */
export function JobData({ job }: { readonly job: JobDetailBody }): ReactNode {
  const isDone = job.status === 'COMPLETED';
  return (
    <div className={isDone ? 'grid-2' : 'stack'}>
      <Card title="Payload">
        {isDone && job.payload === null ? (
          <p className="quiet">Removed after success: what is done needs it no more.</p>
        ) : (
          <JsonView value={job.payload} label="Payload of the job" />
        )}
      </Card>
      {isDone && (
        <Card title="Result">
          {job.resultKept ? (
            <JsonView value={job.result} label="Result of the job" />
          ) : (
            <p className="quiet">
              Not kept: results are kept where the group aggregates them, or where the server keeps all.
            </p>
          )}
        </Card>
      )}
    </div>
  );
}
