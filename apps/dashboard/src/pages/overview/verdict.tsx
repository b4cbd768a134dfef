import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { useLive } from '../../data/live.js';
import type { Seen } from '../../data/seen-tenants.js';
import { useSession } from '../../data/session.js';
import { hrefOf } from '../../rules/hrefs.js';
import { isShort } from '../../rules/seen-tenants.js';
import { verdictOf } from '../../rules/verdict.js';

/** The one sentence that people come for, and what speaks against it. */
export function Verdict({ seen }: { readonly seen: Seen }): ReactNode {
  const { seesAll } = useSession();
  const { snapshot } = useLive();
  const { data: congestion } = useAsk('getCongestion', { query: { history: 'false' } }, { when: seesAll });
  if (!seen.data) return <div className="verdict" role="status" />;
  const { headline, note, tone, findings } = verdictOf({
    tenants: seen.data.tenants,
    underserved: seen.tenants.filter(isShort).map(({ id }) => id),
    queues: snapshot?.queues ?? null,
    resources: congestion?.resources ?? [],
  });
  return (
    <section className={`verdict verdict-${tone}`} aria-label="Is everybody served?">
      <p className="verdict-headline">{headline}</p>
      <p className="quiet number">{note}</p>
      {findings.length > 0 && (
        <ul>
          {findings.map(({ text, tone: its, view }) => (
            <li key={view + text} className={`tone-${its}`}>
              <Link href={hrefOf(view)}>{text}</Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
