import type { ViewId } from '@millrace/contract/server-client';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useLive } from '../data/live.js';
import { useSession } from '../data/session.js';
import { Icon, type IconName } from '../parts/icon.js';
import { shortCount } from '../rules/amounts.js';
import { hrefOf } from '../rules/hrefs.js';

/** A view in the navigation. */
export interface Place {
  readonly view: ViewId & IconName;
  readonly name: string;
  /** True if the view has data of all tenants. It is hidden from callers of one tenant. */
  readonly isShared?: boolean;
}

/** The views in the navigation. The other views are reached through them. */
export const PLACES: readonly Place[] = [
  { view: 'overview', name: 'Overview' },
  { view: 'groups', name: 'Groups' },
  { view: 'deadLetters', name: 'Dead letters' },
  { view: 'batches', name: 'Batches' },
  { view: 'operations', name: 'Operations' },
  { view: 'congestion', name: 'Congestion' },
  { view: 'chat', name: 'Chat' },
  { view: 'workers', name: 'Workers', isShared: true },
];

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
