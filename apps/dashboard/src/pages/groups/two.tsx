import type { ReactNode } from 'react';

/** Two lines of one cell: what it is, and what helps to judge it. */
export function Two({ first, second }: { readonly first: ReactNode; readonly second: ReactNode }): ReactNode {
  return (
    <div className="groups-two">
      <div>{first}</div>
      <div className="small quiet number">{second}</div>
    </div>
  );
}
