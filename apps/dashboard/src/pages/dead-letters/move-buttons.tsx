import type { ReactNode } from 'react';
import type { MoveAsked } from '../../actions/move-dead-letters.js';
import { useSession } from '../../data/session.js';
import { Button } from '../../parts/button.js';
import { countText } from '../../rules/amounts.js';
import type { LetterSelection } from '../../rules/dead-letter-moves.js';

/** Opens the dialog that asks before letters are moved. */
export type AskMove = (asked: MoveAsked) => void;

/** Letters that can be moved together. */
export interface MoveButtonsProps {
  readonly selection: LetterSelection;
  readonly count: number;
  readonly ask: AskMove;
  /** Names them for those who hear a button without what is around it. */
  readonly of: string;
  /** Before the number: `all`. */
  readonly which?: string;
  /** Among many of its kind: red everywhere would mean nothing. */
  readonly isOneOfMany?: boolean;
  /** Stay while there is nothing to move, so that nothing jumps when there is. */
  readonly staysAtNone?: boolean;
  /** Icons alone, for a row. */
  readonly isCompact?: boolean;
  readonly onMoved?: () => void;
}

/** Sends letters back, or throws them away; nothing for those who may not. */
export function MoveButtons({
  selection,
  count,
  ask,
  of,
  which,
  isOneOfMany = false,
  staysAtNone = false,
  isCompact = false,
  onMoved,
}: MoveButtonsProps): ReactNode {
  const { may } = useSession();
  if (!may('operate') || (count === 0 && !staysAtNone)) return null;
  const isNone = count === 0;
  const text = isNone ? '…' : ` ${which ? `${which} ` : ''}${countText(count)}…`;
  const open = (move: MoveAsked['move']) => () => ask({ move, selection, seen: count, onMoved });
  if (isCompact)
    return (
      <>
        <Button look="quiet" icon="retry" iconOnly onClick={open('redrive')}>{`Redrive ${of}`}</Button>
        <Button look="quiet" icon="trash" iconOnly onClick={open('purge')}>{`Purge ${of}`}</Button>
      </>
    );
  return (
    <>
      <Button icon="retry" disabled={isNone} onClick={open('redrive')} aria-label={`Redrive${text} ${of}`}>
        Redrive{text}
      </Button>
      <Button
        look={isOneOfMany ? 'quiet' : 'danger'}
        icon="trash"
        disabled={isNone}
        onClick={open('purge')}
        aria-label={`Purge${text} ${of}`}
      >
        Purge{text}
      </Button>
    </>
  );
}
