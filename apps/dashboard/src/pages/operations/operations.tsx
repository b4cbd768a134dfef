import type { ReactNode } from 'react';
import { useSession } from '../../data/session.js';
import { PageHead } from '../../parts/page-head.js';
import { OperationsHistory } from './operations-history.js';
import { OperationsList } from './operations-list.js';
import { OperationsNow } from './operations-now.js';
import './operations.css';

/** What is asked for at the front door: how much of it is answered at once, how fast, and what became of each. */
export function Operations(): ReactNode {
  const { seesAll } = useSession();
  return (
    <>
      <PageHead
        title="Operations"
        note="Commands at the front door: done in time they are answered with their outcome (200), else with where to ask (202)"
      />
      {seesAll && <OperationsNow />}
      {seesAll && <OperationsHistory />}
      <OperationsList />
    </>
  );
}
