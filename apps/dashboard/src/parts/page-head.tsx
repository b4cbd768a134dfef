import { type ReactNode, useEffect } from 'react';
import { Link } from 'wouter';
import './page-head.css';

/** What a view is about. */
export interface PageHeadProps {
  readonly title: string;
  /** Beside the title: its state. */
  readonly mark?: ReactNode;
  readonly note?: ReactNode;
  /** The way up. */
  readonly above?: readonly (readonly [text: string, href: string])[];
  readonly children?: ReactNode;
}

/** The head of a view: its title, the way up, and what can be done. */
export function PageHead({ title, mark, note, above = [], children }: PageHeadProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
  return (
    <header className="page-head">
      <div className="page-head-words">
        {above.length > 0 && (
          <nav aria-label="Way up" className="small">
            {above.map(([text, href]) => (
              <span key={href}>
                <Link href={href}>{text}</Link>
                <span className="quiet" aria-hidden="true">
                  {' / '}
                </span>
              </span>
            ))}
          </nav>
        )}
        <div className="row">
          <h1>{title}</h1>
          {mark}
        </div>
        {note && <p className="quiet">{note}</p>}
      </div>
      {children && <div className="row page-head-actions">{children}</div>}
    </header>
  );
}
