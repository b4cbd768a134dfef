import type { BatchTaskSummary } from '@millrace/contract';
import { type Edge, type Node, type NodeHandle, Position } from '@xyflow/react';
import { edgesOfPath } from '../../rules/batch-tasks.js';
import type { DagLayout, Flow, Spot, TaskRoom } from '../../rules/dag-layout.js';
import { type DagEdge, edgeName } from '../../rules/dag-ranks.js';

/** A task as the picture has it. */
export type TaskNode = Node<{ readonly task: BatchTaskSummary; readonly flow: Flow }, 'task' | 'small'>;

/** An edge that goes around tasks. */
export type LineEdge = Edge<{ readonly bends: readonly Spot[]; readonly flow: Flow }, 'line'>;

/** More tasks are drawn small: a key and a state. */
export const LARGE_MAX = 150;
/** Of more edges only those of the critical path and of the chosen task are drawn: all of them would show nothing. */
const EDGES_DRAWN_MAX = 300;

const SMALL: TaskRoom = { width: 116, height: 26, beside: 8, between: 40 };
const LARGE: Omit<TaskRoom, 'width'> = { height: 52, beside: 16, between: 32 };
/** Of a large task: room for what stands beside its key, and for each character of it. */
const WIDTH = { min: 138, max: 200, besideKey: 56, perCharacter: 8 } as const;

/** How large tasks are drawn: as their keys need it, and small where there are many. */
export function roomFor(keys: readonly string[]): TaskRoom {
  if (keys.length > LARGE_MAX) return SMALL;
  const longest = keys.reduce((most, key) => Math.max(most, key.length), 0);
  const wanted = WIDTH.besideKey + longest * WIDTH.perCharacter;
  return { ...LARGE, width: Math.min(WIDTH.max, Math.max(WIDTH.min, wanted)) };
}

/** What the picture is made of. */
export interface Drawing {
  readonly tasks: readonly BatchTaskSummary[];
  readonly layout: DagLayout;
  readonly room: TaskRoom;
  /** The key of the chosen task; '' for none. */
  readonly chosen: string;
}

/**
 * The tasks of a picture. One that has not changed is the very same as before, so that only the others are drawn again.
 */
export function nodesOf(drawing: Drawing, before: readonly TaskNode[]): TaskNode[] {
  const known = new Map(before.map((node) => [node.id, node]));
  return drawing.tasks.flatMap((task) => {
    const place = drawing.layout.places.get(task.key);
    if (!place) return [];
    const was = known.get(task.id);
    const isSame =
      was?.data.task === task &&
      was.position === place &&
      was.data.flow === drawing.layout.flow &&
      was.selected === (task.key === drawing.chosen);
    return [isSame ? was : nodeOf(drawing, task, place)];
  });
}

function nodeOf(
  { room, layout: { flow }, chosen, tasks }: Drawing,
  task: BatchTaskSummary,
  position: Spot,
): TaskNode {
  const { width, height } = room;
  const isChosen = task.key === chosen;
  return {
    // Not the key: it may hold anything, and ids become parts of selectors.
    id: task.id,
    type: tasks.length > LARGE_MAX ? 'small' : 'task',
    position,
    data: { task, flow },
    width,
    height,
    measured: { width, height },
    handles: handlesOf(room, flow),
    selected: isChosen,
    ariaRole: 'button',
    domAttributes: { 'aria-pressed': isChosen, 'aria-roledescription': 'task' },
  };
}

/** Where edges begin and end; known without measuring, so they are drawn at once. */
const handlesOf = ({ width, height }: TaskRoom, flow: Flow): NodeHandle[] =>
  flow === 'right'
    ? [
        { type: 'target', position: Position.Left, x: 0, y: height / 2 },
        { type: 'source', position: Position.Right, x: width, y: height / 2 },
      ]
    : [
        { type: 'target', position: Position.Top, x: width / 2, y: 0 },
        { type: 'source', position: Position.Bottom, x: width / 2, y: height },
      ];

/** Whether a picture has so many edges that most of them are left out. */
export const leavesOut = (edges: readonly DagEdge[]): boolean => edges.length > EDGES_DRAWN_MAX;

/** The edges of a picture: those of the critical path are strong, those of what is not done are faint. */
export function drawnEdges(
  { tasks, chosen, layout }: Pick<Drawing, 'tasks' | 'chosen' | 'layout'>,
  edges: readonly DagEdge[],
  path: readonly string[],
): LineEdge[] {
  const byKey = new Map(tasks.map((task) => [task.key, task]));
  const critical = edgesOfPath(path);
  const isFew = !leavesOut(edges);
  return edges.flatMap((edge) => {
    const [from, to] = edge.map((key) => byKey.get(key));
    if (!from || !to) return [];
    const isCritical = critical.has(edgeName(edge));
    const isOfChosen = from.key === chosen || to.key === chosen;
    if (!isFew && !isCritical && !isOfChosen) return [];
    const kind = isCritical ? 'critical' : from.status === 'DONE' ? 'passed' : 'ahead';
    return [
      {
        id: `${from.id}-${to.id}`,
        source: from.id,
        target: to.id,
        type: 'line' as const,
        data: { bends: layout.bends.get(edgeName(edge)) ?? [], flow: layout.flow },
        className: `batch-edge ${kind}${isOfChosen ? ' chosen' : ''}`,
        focusable: false,
        selectable: false,
        ...(isCritical && { zIndex: 1 }),
      },
    ];
  });
}
