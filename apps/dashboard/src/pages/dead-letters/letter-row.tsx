import type { DeadLetterBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { Button } from '../../parts/button.js';
import { JsonView, LongText } from '../../parts/long-text.js';
import { Ago } from '../../parts/when.js';
import { counted } from '../../rules/amounts.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';

/** One dead letter in a list. */
export interface LetterRowProps {
  readonly letter: DeadLetterBody;
  /** Before it: a box to choose it. */
  readonly choice?: ReactNode;
  /** After it: what can be done with it alone. */
  readonly actions?: ReactNode;
}

/** A letter: which job, what it really said, when, after how many tries; its payload when somebody wants it. */
export function LetterRow({ letter, choice, actions }: LetterRowProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { job, error, code, failedAt } = letter;
  const { id: jobId, groupId, attempts, payload } = job;
  return (
    <li className={`dead-letters-row${choice ? ' with-choice' : ''}`}>
      {choice}
      <div className="dead-letters-row-words">
        <p className="dead-letters-message">
          <LongText text={error || code} />
        </p>
        <p className="small quiet dead-letters-row-facts">
          <Link className="mono" href={hrefOf('job', { groupId, jobId })}>
            {shownText(jobId)}
          </Link>
          <span>
            of{' '}
            <Link className="mono" href={hrefOf('group', { groupId })}>
              {shownText(groupId)}
            </Link>
          </span>
          <span className="mono dead-letters-row-code">{shownText(code)}</span>
          <span className="number">{counted(attempts, 'try', 'tries')}</span>
          <Ago at={failedAt} />
        </p>
        {isOpen && <JsonView label={`Payload of ${jobId}`} value={payload} />}
      </div>
      <div className="row dead-letters-row-actions">
        <Button
          look="quiet"
          icon={isOpen ? 'down' : 'right'}
          aria-expanded={isOpen}
          aria-label={`Payload of ${shownText(jobId)}`}
          onClick={() => setOpen(!isOpen)}
        >
          Payload
        </Button>
        {actions}
      </div>
    </li>
  );
}
