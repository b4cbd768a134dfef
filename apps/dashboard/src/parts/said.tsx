import type { ReactNode } from 'react';
import { problemCode, problemText } from '../rules/problems.js';
import './said.css';

/** Where there is nothing: why, and what to do. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="said">
      <h3>{title}</h3>
      {children && <div className="quiet">{children}</div>}
    </div>
  );
}

/** What went wrong, in the place of what should be there. */
export function ProblemNote({ error }: { readonly error: unknown }): ReactNode {
  const code = problemCode(error);
  return (
    <div className="said problem" role="alert">
      <h3>{problemText(error)}</h3>
      {code && <code className="small">{code}</code>}
    </div>
  );
}
