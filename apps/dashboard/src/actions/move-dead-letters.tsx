import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useSession } from '../data/session.js';
import { Dialog } from '../parts/dialog.js';
import { LongText } from '../parts/long-text.js';
import { useSay } from '../parts/notices.js';
import {
  changedText,
  type LetterMove,
  type LetterSelection,
  movedText,
  moveFailure,
  moveQuestion,
  uncertainText,
} from '../rules/dead-letter-moves.js';
import { problemText } from '../rules/problems.js';
import { shownText } from '../rules/written-json.js';
import { countDeadLetters } from './count-dead-letters.js';
import './move-dead-letters.css';

/** Dead letters that somebody wants to move. */
export interface MoveDeadLettersProps {
  readonly move: LetterMove;
  readonly selection: LetterSelection;
  /** How many of them were shown: nothing is moved when they are others by then. */
  readonly seen: number;
  /** Closed, by a decision or without one; `moved`: how many went, where it was done. */
  readonly onClose: (moved?: number) => void;
}

/** Dead letters that somebody wants to move, and what is done when they are. */
export interface MoveAsked extends Omit<MoveDeadLettersProps, 'onClose'> {
  readonly onMoved?: (() => void) | undefined;
}

/**
 * The dialog for whoever shows buttons of many. It belongs to the page and not to a row: one that others move meanwhile must not take
 * the question away.
 */
export function useMoveDialog(): { readonly ask: (asked: MoveAsked) => void; readonly dialog: ReactNode } {
  const [asked, setAsked] = useState<MoveAsked>();
  const close = (moved?: number) => {
    setAsked(undefined);
    if (moved !== undefined) asked?.onMoved?.();
  };
  return { ask: setAsked, dialog: asked && <MoveDeadLetters {...asked} onClose={close} /> };
}

const ROUTES = { redrive: 'redriveDeadLetters', purge: 'purgeDeadLetters' } as const;

/** Asks before dead letters are sent back or thrown away, by their number; asks again when it has changed meanwhile. */
export function MoveDeadLetters({ move, selection, seen, onClose }: MoveDeadLettersProps): ReactNode {
  const { count, problem, isBusy, send } = useMove(move, selection, seen, onClose);
  const { title, confirm, consequence } = moveQuestion(move, count);
  const isOver = count === 0;
  return (
    <Dialog
      title={title}
      confirm={isOver ? 'Close' : confirm}
      look={move === 'purge' && !isOver ? 'danger' : 'main'}
      isBusy={isBusy}
      problem={problem}
      onConfirm={isOver ? () => onClose() : () => void send()}
      onClose={() => onClose()}
    >
      <Which selection={selection} />
      <p>{consequence}</p>
    </Dialog>
  );
}

function Which({ selection }: { readonly selection: LetterSelection }): ReactNode {
  if ('all' in selection) return <p>All there are, of every group and for every error.</p>;
  if ('groupId' in selection)
    return (
      <p>
        All of group <code>{shownText(selection.groupId)}</code>.
      </p>
    );
  if ('signature' in selection)
    return (
      <>
        <p>All of this error, in every group:</p>
        <p className="mono move-letters-signature">
          <LongText text={selection.signature} />
        </p>
      </>
    );
  const [first, ...others] = selection.ids;
  if (!first || others.length > 0) return <p>Those that you have chosen.</p>;
  return (
    <p>
      Job <code>{shownText(first.jobId)}</code> of group <code>{shownText(first.groupId)}</code>.
    </p>
  );
}

function useMove(
  move: LetterMove,
  selection: LetterSelection,
  seen: number,
  onClose: MoveDeadLettersProps['onClose'],
) {
  const { client } = useSession();
  const queries = useQueryClient();
  const say = useSay();
  const isShown = useShown();
  // What is confirmed is what was seen: the number does not change under somebody's hand.
  const [count, setCount] = useState(seen);
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);

  const explain = async (error: unknown): Promise<string> => {
    const failure = moveFailure(error);
    if (failure === 'refused') return problemText(error);
    const now = await countDeadLetters(client, selection).catch(() => undefined);
    if (failure === 'unknown') {
      if (now !== undefined) setCount(now);
      return uncertainText(problemText(error));
    }
    if (now === undefined) return problemText(error);
    setCount(now);
    return changedText(now, count);
  };
  const send = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      const { count: moved } = await client.call(ROUTES[move], { body: moveBody(selection, count) });
      say('ok', movedText(move, moved, count));
      onClose(moved);
    } catch (error) {
      const text = await explain(error);
      // Whoever has closed it while it was under way is told, too.
      if (isShown.current) setProblem(text);
      else say('fail', text);
    }
    setBusy(false);
    // Also after a failure: it may have happened, and only the answer was lost.
    await queries.invalidateQueries({ predicate: ({ queryKey: [key] }) => key !== 'getCaller' });
  };
  return { count, problem, isBusy, send };
}

const moveBody = (selection: LetterSelection, expectedCount: number) =>
  'ids' in selection
    ? { ids: selection.ids.map(({ groupId, jobId }) => ({ groupId, jobId })), expectedCount }
    : { ...selection, expectedCount };

function useShown() {
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return isShown;
}
