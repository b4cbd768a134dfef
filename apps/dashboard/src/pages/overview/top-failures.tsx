import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useAsk } from '../../data/ask.js';
import { Card } from '../../parts/card.js';
import { CauseList } from '../../parts/cause-list.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { CAUSES_MAX, failuresText } from '../../rules/causes.js';
import { hrefOf } from '../../rules/hrefs.js';

const SHOWN = 5;

/** What failed for good: thousands of failures are a few errors. */
export function TopFailures(): ReactNode {
  const { data, error } = useAsk('listDeadLetters', { query: { groupBy: 'signature', limit: CAUSES_MAX } });
  const signatures = data?.signatures ?? [];
  const note = signatures.length > 0 ? failuresText(signatures) : undefined;
  return (
    <Card title="Failed for good" note={note} aside={<Link href={hrefOf('deadLetters')}>Dead letters</Link>}>
      {error && <ProblemNote error={error} />}
      {data && signatures.length === 0 && <Empty title="Nothing has failed for good" />}
      <CauseList causes={signatures.slice(0, SHOWN)} />
    </Card>
  );
}
