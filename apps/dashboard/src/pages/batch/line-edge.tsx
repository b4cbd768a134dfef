import { BaseEdge, type EdgeProps } from '@xyflow/react';
import type { ReactNode } from 'react';
import { linePath } from '../../rules/dag-layout.js';
import type { LineEdge as Line } from './drawn-dag.js';

/** Who waits for whom, drawn around what is between them. */
export function LineEdge({ id, sourceX, sourceY, targetX, targetY, data }: EdgeProps<Line>): ReactNode {
  const spots = [{ x: sourceX, y: sourceY }, ...(data?.bends ?? []), { x: targetX, y: targetY }];
  return <BaseEdge id={id} path={linePath(spots, data?.flow ?? 'right')} interactionWidth={0} />;
}
