import { memo, type ReactNode } from 'react';
import { useAsk } from '../../data/ask.js';
import { Button } from '../../parts/button.js';
import { Status } from '../../parts/status.js';
import { type Exchange, isOpen } from '../../rules/conversation.js';
import { clockText, momentText } from '../../rules/times.js';
import { hasEnded, type TurnProgress } from '../../rules/turn-progress.js';
import { shownText } from '../../rules/written-json.js';

/** What one exchange needs to be shown. */
export interface ExchangeViewProps {
  readonly sessionId: string;
  readonly exchange: Exchange;
  /** Of the turn whose answer is coming. */
  readonly progress: TurnProgress | undefined;
  /** undefined: this caller may not. */
  readonly onCancel: ((taskId: string) => void) | undefined;
  /** Whether the server is asked how it ended, where nobody here knows. */
  readonly looksUp: boolean;
}

/** What somebody said, and what was answered or is being answered. All of it is text and nothing but text. */
export const ExchangeView = memo(function ExchangeView(props: ExchangeViewProps): ReactNode {
  const { exchange, progress, sessionId, looksUp } = props;
  const { taskId, question, askedAt, answer, answeredAt, status, problem } = exchange;
  const open = isOpen(exchange);
  const text = open ? progress?.text : answer;
  return (
    <li className="chat-exchange">
      {question !== undefined && (
        <div className="chat-said chat-question">
          <Who name="User" at={askedAt} />
          <p dir="auto">{question}</p>
        </div>
      )}
      <div className="chat-said chat-answer">
        <Who name="Answer" at={answeredAt}>
          {open && <Open {...props} />}
          {status !== undefined && hasEnded(status) && status !== 'COMPLETED' && <Status status={status} />}
          {status === undefined &&
            (looksUp ? <LookedUp sessionId={sessionId} taskId={taskId} /> : <NotKept />)}
        </Who>
        {text && <p dir="auto">{text}</p>}
        {status === 'CANCELLED' && text && (
          <p className="small quiet">What was answered so far is not kept.</p>
        )}
        {problem && <p className="small tone-fail">{shownText(problem)}</p>}
      </div>
    </li>
  );
});

function Who({
  name,
  at,
  children,
}: {
  readonly name: string;
  readonly at: string | undefined;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="row chat-who small">
      <b>{name}</b>
      {at && (
        <time className="quiet number" dateTime={at} title={momentText(at)}>
          {clockText(at)}
        </time>
      )}
      {children}
    </div>
  );
}

function Open({ exchange, progress, onCancel }: ExchangeViewProps): ReactNode {
  const { taskId, status = 'QUEUED' } = exchange;
  // The stream knows more than the list, as soon as it has said anything.
  const heard = progress && progress.status !== 'QUEUED' ? progress.status : status;
  return (
    <>
      <Status status={heard} />
      {onCancel && (
        <Button look="quiet" icon="close" onClick={() => onCancel(taskId)}>
          {heard === 'QUEUED' ? 'Cancel this turn' : 'Stop this turn'}
        </Button>
      )}
    </>
  );
}

/** How a turn without an answer ended; the server knows it for half an hour. */
function LookedUp({ sessionId, taskId }: { readonly sessionId: string; readonly taskId: string }): ReactNode {
  const { data, isPending } = useAsk('getChatTaskStatus', { params: { sessionId, taskId } });
  if (data) return <Status status={data.status} />;
  return isPending ? null : <NotKept />;
}

function NotKept(): ReactNode {
  return <span className="quiet">None is kept: the turn failed or was cancelled.</span>;
}
