import type { ReactNode } from 'react';
import { useMoveDialog } from '../../actions/move-dead-letters.js';
import { useFilters } from '../../data/filters.js';
import { CauseLetters } from './cause-letters.js';
import { Causes } from './causes.js';
import './dead-letters.css';

/** What failed for good: by cause, and the letters of one cause. */
export function DeadLetters(): ReactNode {
  const { values, set } = useFilters('signature', 'groupId');
  const { ask, dialog } = useMoveDialog();
  const groupId = values.groupId || undefined;
  return (
    <>
      {values.signature ? (
        <CauseLetters signature={values.signature} groupId={groupId} ask={ask} />
      ) : (
        <Causes groupId={groupId} onGroup={(id) => set({ groupId: id })} ask={ask} />
      )}
      {dialog}
    </>
  );
}
