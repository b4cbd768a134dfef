import type { DeadLetterSignatureBody } from '@millrace/contract';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { Button } from '../../parts/button.js';
import { LongText } from '../../parts/long-text.js';
import { Meter } from '../../parts/meter.js';
import { Ago } from '../../parts/when.js';
import { counted, countText, percentText } from '../../rules/amounts.js';
import { causeName, causeParts, causeShare } from '../../rules/causes.js';
import { causeSelection } from '../../rules/dead-letter-moves.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';
import { type AskMove, MoveButtons } from './move-buttons.js';
import { Samples } from './samples.js';

/** Failures of one cause. */
export interface CauseBlockProps {
  /** What a server of an older version does not tell yet may be missing. */
  readonly cause: Pick<DeadLetterSignatureBody, 'signature' | 'count' | 'lastFailedAt'> &
    Partial<DeadLetterSignatureBody>;
  /** Of all causes. */
  readonly failures: number;
  readonly groupId: string | undefined;
  readonly ask: AskMove;
}

/** One error: how often, since when, what it says, and what can be done about it. */
export function CauseBlock({ cause, failures, groupId, ask }: CauseBlockProps): ReactNode {
  const { signature, count, firstFailedAt, lastFailedAt } = cause;
  const parts = causeParts(cause);
  const { processorType, code, message } = parts;
  const share = percentText(causeShare(count, failures));
  const name = shownText(causeName(parts));
  return (
    <article className="card dead-letters-cause" aria-label={name}>
      <div className="dead-letters-cause-count">
        <span className="number tone-fail">{countText(count)}</span>
        <Meter
          label={`Share of all failures, ${share}`}
          parts={[{ label: 'failures', value: count, tone: 'fail' }]}
          total={failures}
        />
        <span className="small quiet number">
          {share} of {groupId === undefined ? 'all' : 'the group'}
        </span>
      </div>
      <div className="dead-letters-cause-words">
        <h2>
          <Link href={hrefOf('deadLetters', undefined, { signature, groupId })}>{name}</Link>
          {processorType !== undefined && (
            <span className="mono small quiet">{shownText(processorType)}</span>
          )}
        </h2>
        {message !== code && (
          <p className="mono dead-letters-message">
            <LongText text={message} />
          </p>
        )}
      </div>
      <div className="row dead-letters-cause-actions">
        <MoveButtons
          isOneOfMany
          selection={causeSelection(signature, groupId)}
          count={count}
          ask={ask}
          of={`of ${name}`}
        />
      </div>
      <CauseSamples cause={cause} groupId={groupId} name={name}>
        <p className="small quiet">
          last <Ago at={lastFailedAt} />
          {firstFailedAt !== undefined && (
            <>
              , first <Ago at={firstFailedAt} />
            </>
          )}
        </p>
      </CauseSamples>
    </article>
  );
}

function CauseSamples({
  cause: { signature, count },
  groupId,
  name,
  children,
}: Pick<CauseBlockProps, 'cause' | 'groupId'> & {
  readonly name: string;
  readonly children: ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="dead-letters-cause-samples">
      <div className="row">
        {children}
        <Button
          look="quiet"
          icon={isOpen ? 'down' : 'right'}
          aria-expanded={isOpen}
          aria-label={`Samples of ${name}`}
          onClick={() => setOpen(!isOpen)}
        >
          Samples
        </Button>
        <Link className="small" href={hrefOf('deadLetters', undefined, { signature, groupId })}>
          {count === 1 ? 'The letter' : `All ${counted(count, 'letter')}`}
          <span className="unseen"> of {name}</span>
        </Link>
      </div>
      {isOpen && <Samples signature={signature} groupId={groupId} count={count} />}
    </div>
  );
}
