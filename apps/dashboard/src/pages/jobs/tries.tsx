import type { JobBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Card } from '../../parts/card.js';
import { Ago } from '../../parts/when.js';
import { counted } from '../../rules/amounts.js';
import { durationText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';

/** The last tries of a job that failed, the newest first. */
export function FailedTries({ tries }: { readonly tries: JobBody['failedAttempts'] }): ReactNode {
  return (
    <Card
      title="Failed tries"
      note={`The last ${counted(tries.length, 'try', 'tries')} that failed, the newest first`}
    >
      <ol className="job-tries">
        {[...tries].reverse().map(({ at, ms, code, message }) => (
          <li key={`${at} ${ms}`}>
            <div className="row">
              <code className="tone-fail">{shownText(code)}</code>
              <span className="small quiet">
                <Ago at={at} />, took {durationText(ms)}
              </span>
            </div>
            <p className="job-message">{shownText(message)}</p>
          </li>
        ))}
      </ol>
    </Card>
  );
}
