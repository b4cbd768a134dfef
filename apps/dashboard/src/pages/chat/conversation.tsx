import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { useAct } from '../../data/act.js';
import { useAsk } from '../../data/ask.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { countText } from '../../rules/amounts.js';
import { conversationOf, isOpen, type Sent } from '../../rules/conversation.js';
import { hrefOf } from '../../rules/hrefs.js';
import { problemCode } from '../../rules/problems.js';
import type { TurnProgress } from '../../rules/turn-progress.js';
import { Composer } from './composer.js';
import { ExchangeView } from './exchange.js';
import { useStickToEnd } from './stick-to-end.js';
import { useTurn } from './use-turn.js';

/** What others say is seen so soon; what is said here at once. */
const LOOK_EVERY_MS = 5_000;
/** More are drawn when somebody wants to read them. */
const SHOWN_AT_FIRST = 50;
/** Turns without an answer about which the server is asked, from the end. */
const LOOKED_UP_MAX = 10;

/** One conversation: what was said, the answer that is coming, and a place to say something. */
export function Conversation({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { may } = useSession();
  const asked = useAsk(
    'getChatSession',
    { params: { sessionId } },
    { everyMs: LOOK_EVERY_MS, keepsShown: false },
  );
  const { data, error, refetch } = asked;
  const [sent, setSent] = useState<readonly Sent[]>([]);
  const [ends, setEnds] = useState<ReadonlyMap<string, TurnProgress>>(new Map());
  const end = useCallback(
    (taskId: string, progress: TurnProgress) => {
      setEnds((before) => new Map(before).set(taskId, progress));
      void refetch();
    },
    [refetch],
  );
  const exchanges = useMemo(
    () => conversationOf({ messages: data?.messages ?? [], turns: data?.turns ?? [], sent, ends }),
    [data, sent, ends],
  );
  const current = exchanges.find(isOpen)?.taskId;
  const progress = useTurn(sessionId, current, end);
  const cancel = useCancel(sessionId, (taskId) => {
    // The stream of the one that answers says so itself, with what was answered until then.
    if (taskId !== current) end(taskId, NOTHING_SAID);
  });
  const { frame, isAway, onScroll, toEnd } = useStickToEnd();
  const isGone = problemCode(error) === 'CHAT_SESSION_NOT_FOUND';
  if (error && !data) return isGone ? <Gone /> : <ProblemNote error={error} />;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls. */}
      <section ref={frame} className="chat-messages" aria-label="Messages" tabIndex={0} onScroll={onScroll}>
        {data && exchanges.length === 0 && (
          <Empty title="Nothing has been said yet">Turns of a session run one after the other.</Empty>
        )}
        <Exchanges {...{ sessionId, exchanges, current, progress, cancel }} />
      </section>
      {isAway && (
        <div className="chat-to-end">
          <Button onClick={toEnd}>To the newest</Button>
        </div>
      )}
      <Announced ends={ends} />
      {isGone && <Gone />}
      {may('operate') && data && !isGone && (
        <Composer
          sessionId={sessionId}
          onSent={(one) => {
            setSent((before) => [...before, one]);
            toEnd();
          }}
        />
      )}
    </>
  );
}

const NOTHING_SAID: TurnProgress = { status: 'CANCELLED', text: '', problem: undefined };

/** Cancels a turn; undefined for those who may not. */
function useCancel(
  sessionId: string,
  onCancelled: (taskId: string) => void,
): ((taskId: string) => void) | undefined {
  const { may } = useSession();
  const { mutate } = useAct('cancelChatTask');
  if (!may('operate')) return undefined;
  return (taskId) =>
    mutate(
      { params: { sessionId, taskId } },
      {
        onSuccess: ({ status }) => {
          if (status === 'CANCELLED') onCancelled(taskId);
        },
      },
    );
}

interface ExchangesProps {
  readonly sessionId: string;
  readonly exchanges: ReturnType<typeof conversationOf>;
  /** The turn whose answer is coming. */
  readonly current: string | undefined;
  readonly progress: TurnProgress;
  readonly cancel: ((taskId: string) => void) | undefined;
}

function Exchanges({ sessionId, exchanges, current, progress, cancel }: ExchangesProps): ReactNode {
  const [shown, setShown] = useState(SHOWN_AT_FIRST);
  const left = Math.max(0, exchanges.length - shown);
  const unknown = exchanges.filter(({ status }) => status === undefined).slice(-LOOKED_UP_MAX);
  return (
    <>
      {left > 0 && (
        <Button look="quiet" onClick={() => setShown(shown + SHOWN_AT_FIRST)}>
          {`Show earlier ones (${countText(left)})`}
        </Button>
      )}
      <ol>
        {exchanges.slice(left).map((exchange) => (
          <ExchangeView
            key={exchange.taskId}
            sessionId={sessionId}
            exchange={exchange}
            progress={exchange.taskId === current ? progress : undefined}
            onCancel={isOpen(exchange) ? cancel : undefined}
            looksUp={unknown.includes(exchange)}
          />
        ))}
      </ol>
    </>
  );
}

/** Read aloud when an answer is complete, not word by word. */
function Announced({ ends }: { readonly ends: ReadonlyMap<string, TurnProgress> }): ReactNode {
  const last = [...ends.values()].at(-1);
  return (
    <p className="unseen" aria-live="polite">
      {last && announced(last)}
    </p>
  );
}

const announced = ({ status, text, problem }: TurnProgress): string =>
  status === 'COMPLETED'
    ? `Answer: ${text}`
    : status === 'CANCELLED'
      ? 'The turn was cancelled'
      : `The turn failed: ${problem ?? ''}`;

/** Conversations are not stored: nobody has done anything wrong. */
function Gone(): ReactNode {
  return (
    <Empty title="This conversation is not here any more">
      Conversations live in the memory of one instance of the server. It was restarted, it has let go of the
      oldest to make room, or another instance has it. <Link href={hrefOf('chat')}>All sessions</Link>
    </Empty>
  );
}
