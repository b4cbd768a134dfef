import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { useFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { PageHead } from '../../parts/page-head.js';
import { Empty } from '../../parts/said.js';
import { sessionName } from '../../rules/conversation.js';
import { hrefOf, type ViewProps } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';
import './chat.css';
import { Conversation } from './conversation.js';
import { NewSession } from './new-session.js';
import { SessionList } from './session-list.js';

/** Conversations, and one of them: each answer streams while it comes. */
export function Chat({ params: { sessionId } }: ViewProps): ReactNode {
  const { may } = useSession();
  const { values, set } = useFilters('tenant');
  const [, go] = useLocation();
  const [isNew, setNew] = useState(false);
  const { tenant } = values;
  const open = (id: string) => {
    setNew(false);
    go(hrefOf('chatSession', { sessionId: id }, { tenant }));
  };
  return (
    <>
      <PageHead
        title={sessionId === undefined ? 'Chat' : shownText(sessionName(sessionId))}
        note={
          sessionId === undefined
            ? 'Turns of one session run in order, different sessions at once'
            : undefined
        }
        above={sessionId === undefined ? [] : [['Chat', hrefOf('chat', undefined, { tenant })]]}
      >
        {may('operate') && (
          <Button look={sessionId === undefined ? 'main' : 'plain'} onClick={() => setNew(true)}>
            New session
          </Button>
        )}
      </PageHead>
      <div className={sessionId === undefined ? 'chat' : 'chat chat-in-session'}>
        <SessionList current={sessionId} tenant={tenant} onTenant={(next) => set({ tenant: next })} />
        <div className="chat-session">
          <h2 className="unseen">Conversation</h2>
          {sessionId === undefined ? (
            <div className="chat-unchosen">
              <Empty title="Choose a session">
                Its messages and the answer that is coming are shown here.
              </Empty>
            </div>
          ) : (
            <Conversation key={sessionId} sessionId={sessionId} />
          )}
        </div>
      </div>
      {isNew && <NewSession tenant={tenant} onMade={open} onClose={() => setNew(false)} />}
    </>
  );
}
