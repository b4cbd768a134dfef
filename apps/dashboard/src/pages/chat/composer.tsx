import { ProblemError } from '@millrace/contract/server-client';
import { type FormEvent, type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { useAct } from '../../data/act.js';
import { Button } from '../../parts/button.js';
import { countText } from '../../rules/amounts.js';
import type { Sent } from '../../rules/conversation.js';
import { problemText } from '../../rules/problems.js';

/** As the server has it: longer messages are refused. */
const MESSAGE_MAX = 100_000;
/** From here on people see how much room is left. */
const COUNTED_FROM = 90_000;

/** Where somebody says something. What is refused stays in the box, with the reason. */
export function Composer({
  sessionId,
  onSent,
}: {
  readonly sessionId: string;
  readonly onSent: (sent: Sent) => void;
}): ReactNode {
  const [text, setText] = useState('');
  const id = useId();
  const act = useAct('queueChatMessage', { saysProblems: false });
  const isTooLong = text.length > MESSAGE_MAX;
  const canSend = text.trim() !== '' && !isTooLong && !act.isPending;
  const send = () => {
    if (!canSend) return;
    act.mutate(
      { params: { sessionId }, body: { message: text } },
      {
        onSuccess: ({ task_id: taskId, queued_at: at }) => {
          onSent({ taskId, message: text, at });
          // What was typed meanwhile is not what was sent.
          setText((now) => (now === text ? '' : now));
        },
      },
    );
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    send();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While a word is being composed, Enter chooses it.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form className="chat-composer" onSubmit={submit}>
      {act.error && (
        <p className="small tone-fail" role="alert">
          {sendingProblem(act.error)}
        </p>
      )}
      <div className="chat-composer-row">
        <div className="field">
          <label htmlFor={id} className="unseen">
            Message
          </label>
          <textarea
            id={id}
            rows={2}
            value={text}
            placeholder="Say something"
            aria-invalid={isTooLong || undefined}
            aria-describedby={`${id}-hint`}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={onKeyDown}
          />
        </div>
        <Button type="submit" look="main" icon="send" disabled={!canSend} isBusy={act.isPending}>
          Send
        </Button>
      </div>
      <p id={`${id}-hint`} className={isTooLong ? 'small tone-fail' : 'small quiet'}>
        {text.length < COUNTED_FROM
          ? 'Enter sends, Shift and Enter begin a new line'
          : `${countText(text.length)} of ${countText(MESSAGE_MAX)} characters`}
      </p>
    </form>
  );
}

/** It is sent once only: whoever does not know whether it arrived must not be told that it did not. */
const sendingProblem = (error: Error): string =>
  error instanceof ProblemError
    ? problemText(error)
    : 'The server did not answer, so the message may have arrived or not: look above before you send it again.';
