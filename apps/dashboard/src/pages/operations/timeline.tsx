import type { OperationBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useNow } from '../../data/live.js';
import { hrefOf } from '../../rules/hrefs.js';
import { operationSteps, type PacedStep, pacedSteps } from '../../rules/operation-steps.js';
import { agoText, clockText, durationText, momentText } from '../../rules/times.js';
import { shownText } from '../../rules/written-json.js';
import './timeline.css';

/** The life of an operation from top to bottom, with the time that each part of it took. */
export function Timeline({ operation }: { readonly operation: OperationBody }): ReactNode {
  const now = useNow();
  const steps = pacedSteps(operationSteps(operation), now);
  return (
    <ol className="timeline">
      {steps.map((step, index) => (
        <li key={step.key} aria-current={step.isNow ? 'step' : undefined}>
          <span className={`timeline-mark tone-${step.tone}`} aria-hidden="true">
            <span className={`status-mark mark-${step.tone}`} />
          </span>
          <Words step={step} operation={operation} now={now} />
          <When at={step.at} />
          <Pace to={steps[index + 1]} />
        </li>
      ))}
    </ol>
  );
}

/** How long it took to get to the next step. */
function Pace({ to }: { readonly to: PacedStep | undefined }): ReactNode {
  if (!to) return null;
  const isGrowing = to.isNow === true && to.at === null;
  return (
    <span className="timeline-pace small quiet number">
      {to.afterMs === null ? '' : `${isGrowing ? 'for ' : ''}${durationText(to.afterMs)}`}
    </span>
  );
}

function When({ at }: Pick<PacedStep, 'at'>): ReactNode {
  if (at === null) return null;
  return (
    <time className="timeline-time small quiet number" dateTime={at} title={momentText(at)}>
      {clockText(at)}
    </time>
  );
}

function Words({
  step: { key, title, note, tone, until },
  operation,
  now,
}: {
  readonly step: PacedStep;
  readonly operation: OperationBody;
  readonly now: number;
}): ReactNode {
  return (
    <div className="timeline-words">
      <h3 className={key === 'ended' ? `tone-${tone}` : undefined}>{title}</h3>
      {key === 'work' && <WorkLink operation={operation} />}
      {until && <p className="small number">{dueText(until, now)}</p>}
      {note && <p className="quiet small">{shownText(note)}</p>}
    </div>
  );
}

const dueText = (until: string, now: number): string =>
  Date.parse(until) > now ? `Due ${agoText(until, now)}, at ${clockText(until)}` : 'Due now';

/** Where the work behind an operation can be looked at. */
function WorkLink({ operation: { backing } }: Pick<{ operation: OperationBody }, 'operation'>): ReactNode {
  if (!backing) return null;
  const { kind, ref } = backing;
  if (kind === 'bulk') return <Link href={hrefOf('group', { groupId: ref })}>{shownText(ref)}</Link>;
  if (kind === 'batch') return <Link href={hrefOf('batch', { batchId: ref })}>Batch {shownText(ref)}</Link>;
  return <code>{shownText(ref)}</code>;
}
