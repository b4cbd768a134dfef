import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useSession } from '../../data/session.js';
import { Field } from '../../parts/field.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { Ago } from '../../parts/when.js';
import { sessionName } from '../../rules/conversation.js';
import { hrefOf } from '../../rules/hrefs.js';
import { shownText } from '../../rules/written-json.js';

/** No change tells of them. */
const LOOK_EVERY_MS = 5_000;
/** As many as the server lists. */
const LISTED_MAX = 100;

/** The newest conversations. */
export function SessionList({
  current,
  tenant,
  onTenant,
}: {
  readonly current: string | undefined;
  readonly tenant: string;
  readonly onTenant: (tenant: string) => void;
}): ReactNode {
  const { seesAll } = useSession();
  const query = { limit: LISTED_MAX, ...(seesAll && tenant !== '' && { tenant }) };
  const { data, error } = useAsk('listChatSessions', { query }, { everyMs: LOOK_EVERY_MS });
  const items = data?.items;
  return (
    <div className="chat-sessions">
      <h2 className="unseen">Sessions</h2>
      {seesAll && (
        <Field
          isBare
          label="Tenant"
          placeholder="All tenants"
          value={tenant}
          onChange={(event) => onTenant(event.target.value)}
        />
      )}
      {error && !data && <ProblemNote error={error} />}
      {items?.length === 0 && (
        <Empty title="No sessions">
          {tenant === '' ? 'Nobody has begun a conversation here.' : 'This tenant has none here.'}
        </Empty>
      )}
      <nav aria-label="Sessions" className="chat-list">
        <ul>
          {items?.map(({ session_id: id, tenant: whose, created_at }) => (
            <li key={id}>
              <Link
                href={hrefOf('chatSession', { sessionId: id }, { tenant })}
                aria-current={id === current ? 'page' : undefined}
              >
                <span className="chat-list-name">{shownText(sessionName(id))}</span>
                <span className="chat-list-facts small">
                  <span className="chat-list-tenant">{shownText(whose)}</span>
                  <Ago at={created_at} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
        {items?.length === LISTED_MAX && (
          <p className="small quiet chat-list-end">The newest {LISTED_MAX} are shown.</p>
        )}
      </nav>
    </div>
  );
}
