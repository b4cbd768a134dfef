import { type ReactNode, useState } from 'react';
import { countText } from '../rules/amounts.js';
import { shownText } from '../rules/written-json.js';
import { Button } from './button.js';

/** More is more than anybody reads of one failure among many. */
const SHOWN_MAX = 300;

/** A text from outside, cut until somebody wants all of it. */
export function LongText({ text }: { readonly text: string }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= SHOWN_MAX) return <span>{shownText(text)}</span>;
  return (
    <>
      <span>{shownText(text.slice(0, SHOWN_MAX))}…</span>{' '}
      <Button look="quiet" onClick={() => setWhole(true)}>
        Show all {countText(text.length)} characters
      </Button>
    </>
  );
}
