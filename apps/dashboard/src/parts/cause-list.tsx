import type { ResponseOf } from '@millrace/contract/server-client';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { countText } from '../rules/amounts.js';
import { hrefOf } from '../rules/hrefs.js';
import { shownText } from '../rules/written-json.js';
import './cause-list.css';
import { Ago } from './when.js';

/** The errors behind many failures, a line each. */
export interface CauseListProps {
  readonly causes: NonNullable<ResponseOf<'listDeadLetters'>['signatures']>;
  /** Of one group only. */
  readonly groupId?: string;
}

/** Errors with how often they came and when last; each leads to its dead letters. */
export function CauseList({ causes, groupId }: CauseListProps): ReactNode {
  return (
    <ul className="cause-list">
      {causes.map(({ signature, count, lastFailedAt }) => (
        <li key={signature}>
          <span className="number tone-fail">{countText(count)}</span>
          <Link className="mono small" href={hrefOf('deadLetters', undefined, { signature, groupId })}>
            {shownText(signature)}
          </Link>
          <span className="quiet small">
            <Ago at={lastFailedAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}
