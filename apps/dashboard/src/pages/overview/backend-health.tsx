import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useHealth } from '../../data/health.js';
import { useSession } from '../../data/session.js';
import { Tag } from '../../parts/status.js';
import { hrefOf } from '../../rules/hrefs.js';

/** How what the server needs is; what is wrong with it stands above every view. */
export function BackendHealth(): ReactNode {
  const { seesAll } = useSession();
  const { checks = [] } = useHealth();
  const tags = checks.map(({ name, ok }) => (
    <Tag key={name} tone={ok ? 'ok' : 'fail'}>
      {name} {ok ? 'well' : 'not well'}
    </Tag>
  ));
  if (tags.length === 0) return null;
  return seesAll ? (
    <Link className="row overview-health" href={hrefOf('workers')}>
      {tags}
    </Link>
  ) : (
    <span className="row">{tags}</span>
  );
}
