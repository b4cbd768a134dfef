import type { ViewId } from '@millrace/contract/server-client';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useLive } from '../data/live.js';
import { useSession } from '../data/session.js';
import { Icon } from '../parts/icon.js';
import { shortCount } from '../rules/amounts.js';
import { hrefOf } from '../rules/hrefs.js';
import { PLACES } from './places.js';

const isBelow = (location: string, href: string): boolean =>
  href === '/' ? location === '/' : location === href || location.startsWith(`${href}/`);

/** The way to every view. */
export function Nav({ onGo }: { readonly onGo?: () => void }): ReactNode {
  const [location] = useLocation();
  const { seesAll } = useSession();
  const { snapshot } = useLive();
  const counts: Partial<Record<ViewId, number>> = {
    deadLetters: snapshot?.queues?.deadLetters ?? 0,
    operations: snapshot?.openOperations ?? 0,
  };
  return (
    <nav aria-label="Views">
      <ul className="nav">
        {PLACES.filter(({ isShared }) => seesAll || !isShared).map(({ view, name }) => {
          const href = hrefOf(view as 'overview');
          const count = counts[view] ?? 0;
          return (
            <li key={view}>
              <Link href={href} aria-current={isBelow(location, href) ? 'page' : undefined} onClick={onGo}>
                <Icon name={view} />
                {name}
                {count > 0 && (
                  <span className={`nav-count number${view === 'deadLetters' ? ' bad' : ''}`}>
                    {shortCount(count)}
                  </span>
                )}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
