import type { ReactNode } from 'react';
import type { CursorPages } from '../data/cursor-pages.js';
import { Button } from './button.js';

/** Goes through a list page by page. */
export function Pager({
  pages,
  nextCursor,
  label,
  words: [back, next] = ['Newer', 'Older'],
}: {
  readonly pages: CursorPages;
  readonly nextCursor: string | null | undefined;
  readonly label: string;
  /** What is before and after a page. */
  readonly words?: readonly [back: string, next: string];
}): ReactNode {
  if (pages.number === 1 && !nextCursor) return null;
  return (
    <nav className="row pager" aria-label={`Pages of ${label}`}>
      <Button icon="left" disabled={pages.number === 1} onClick={pages.back}>
        {back}
      </Button>
      <span className="quiet small number">Page {pages.number}</span>
      <Button disabled={!nextCursor} onClick={() => nextCursor && pages.next(nextCursor)}>
        {next}
      </Button>
    </nav>
  );
}
