import type { DeadLetterBody } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useAsk } from '../../data/ask.js';
import { useCursorPages } from '../../data/cursor-pages.js';
import { useSession } from '../../data/session.js';
import { Card } from '../../parts/card.js';
import { Pager } from '../../parts/pager.js';
import { Empty, ProblemNote } from '../../parts/said.js';
import { countText } from '../../rules/amounts.js';
import { LETTER_IDS_MAX, type LetterId } from '../../rules/dead-letter-moves.js';
import { shownText } from '../../rules/written-json.js';
import { type Chosen, useChosen } from './chosen.js';
import { LetterRow } from './letter-row.js';
import { type AskMove, MoveButtons } from './move-buttons.js';

/** Which letters. */
export interface LettersProps {
  readonly signature: string;
  readonly groupId: string | undefined;
  readonly ask: AskMove;
}

const PAGE_SIZE = 50;

const idOf = ({ job }: DeadLetterBody): LetterId => ({ groupId: job.groupId, jobId: job.id });

/** Letters page by page, newest first; each can be moved alone, and several together. */
export function Letters({ signature, groupId, ask }: LettersProps): ReactNode {
  const { may } = useSession();
  const list = JSON.stringify([signature, groupId]);
  const pages = useCursorPages(list);
  const chosen = useChosen(list);
  const { data, error } = useAsk('listDeadLetters', {
    query: { signature, groupId, limit: PAGE_SIZE, cursor: pages.cursor },
  });
  const items = data?.items;
  const ids = items?.map(idOf) ?? [];
  return (
    <Card title="Letters" note="Newest first" isFlush>
      {may('operate') && ids.length > 0 && <ChosenBar ids={ids} chosen={chosen} ask={ask} />}
      {error && !items && <ProblemNote error={error} />}
      {!error && !items && <div className="dead-letters-rows-awaited" role="status" aria-label="Loading" />}
      {items?.length === 0 && (
        <div className="dead-letters-none">
          <Empty title={pages.number === 1 ? 'There are no letters of this error' : 'No more letters'}>
            Those there were have run again, or somebody has thrown them away.
          </Empty>
        </div>
      )}
      <ul className="dead-letters-rows" aria-label="Letters">
        {items?.map((letter) => (
          <OneLetter
            key={`${letter.job.groupId} ${letter.job.id}`}
            letter={letter}
            chosen={chosen}
            ask={ask}
          />
        ))}
      </ul>
      <div className="dead-letters-pager">
        <Pager pages={pages} nextCursor={data?.cursor} label="letters" />
      </div>
    </Card>
  );
}

function ChosenBar({
  ids,
  chosen,
  ask,
}: {
  readonly ids: readonly LetterId[];
  readonly chosen: Chosen;
  readonly ask: AskMove;
}): ReactNode {
  const all = ids.every((id) => chosen.has(id));
  return (
    <div className="row spread dead-letters-bar">
      <label className="row">
        <input type="checkbox" checked={all} onChange={() => (all ? chosen.drop(ids) : chosen.add(ids))} />
        All of this page
      </label>
      <div className="row">
        {chosen.ids.length >= LETTER_IDS_MAX && (
          <span className="small quiet">{countText(LETTER_IDS_MAX)} at most at a time</span>
        )}
        <MoveButtons
          isOneOfMany
          staysAtNone
          selection={{ ids: chosen.ids }}
          count={chosen.ids.length}
          ask={ask}
          of="chosen letters"
          onMoved={chosen.clear}
        />
      </div>
    </div>
  );
}

function OneLetter({
  letter,
  chosen,
  ask,
}: {
  readonly letter: DeadLetterBody;
  readonly chosen: Chosen;
  readonly ask: AskMove;
}): ReactNode {
  const { may } = useSession();
  if (!may('operate')) return <LetterRow letter={letter} />;
  const id = idOf(letter);
  const name = `${shownText(id.jobId)} of ${shownText(id.groupId)}`;
  const isChosen = chosen.has(id);
  return (
    <LetterRow
      letter={letter}
      choice={
        <input
          type="checkbox"
          aria-label={`Choose ${name}`}
          checked={isChosen}
          disabled={!isChosen && chosen.ids.length >= LETTER_IDS_MAX}
          onChange={() => (isChosen ? chosen.drop([id]) : chosen.add([id]))}
        />
      }
      actions={
        <MoveButtons
          isCompact
          selection={{ ids: [id] }}
          count={1}
          ask={ask}
          of={name}
          onMoved={() => chosen.drop([id])}
        />
      }
    />
  );
}
