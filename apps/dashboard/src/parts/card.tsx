import { type ReactNode, useId } from 'react';
import './card.css';

/** A part of a page. */
export interface CardProps {
  readonly title?: ReactNode;
  /** Beside the title: a number, a filter, an action. */
  readonly aside?: ReactNode;
  /** What the part is about, below its title. */
  readonly note?: ReactNode;
  /** Up to the edges, for tables. */
  readonly isFlush?: boolean;
  readonly children: ReactNode;
}

/** A framed part of a page, named by its title. */
export function Card({ title, aside, note, isFlush = false, children }: CardProps): ReactNode {
  const id = useId();
  return (
    <section className={`card${isFlush ? ' flush' : ''}`} aria-labelledby={title ? id : undefined}>
      {(title || aside) && (
        <header className="card-head">
          <div>
            {title && <h2 id={id}>{title}</h2>}
            {note && <p className="quiet small">{note}</p>}
          </div>
          {aside && <div className="row">{aside}</div>}
        </header>
      )}
      <div className="card-body">{children}</div>
    </section>
  );
}
