import { Graph, layout } from '@dagrejs/dagre';
import { type DagRanks, type DagShape, edgeName, ranksOf } from './dag-ranks.js';

/** Which way the work flows. */
export type Flow = 'right' | 'down';

/** How large a task is drawn, and how much room is between two. */
export interface TaskRoom {
  readonly width: number;
  readonly height: number;
  /** Between two of one rank. */
  readonly beside: number;
  /** Between two ranks. */
  readonly between: number;
}

/** A place in the picture. */
export interface Spot {
  readonly x: number;
  readonly y: number;
}

/** Where everything is drawn. */
export interface DagLayout {
  readonly flow: Flow;
  /** The upper left corner of each task. */
  readonly places: ReadonlyMap<string, Spot>;
  /** What an edge that passes ranks goes through so as not to pass behind tasks, by edgeName. */
  readonly bends: ReadonlyMap<string, readonly Spot[]>;
  readonly width: number;
  readonly height: number;
}

/** Above it (tasks, and ranks that edges cross) the careful way takes longer than somebody waits: 1,000 tasks took it 20 s. */
const CAREFUL_MAX = 400;
/** A rank with more tasks is a block of several lines: one line of 1,000 could not be seen. */
const LINE_MAX = 24;

/** What a picture has to fit into. */
export interface Frame {
  readonly width: number;
  readonly height: number;
}

/** A layout that is drawn smaller cannot be read. */
const READABLE = 0.75;

/**
 * Where the tasks of a DAG are drawn, flowing the way in which they are seen best: the same for the same shape, whatever their states.
 * @param frame - what it has to fit into; the longer side of it is the way that is taken where both are good.
 */
export function layOut(shape: DagShape, room: TaskRoom, frame: Frame): DagLayout {
  const ranks = ranksOf(shape);
  const isCareful =
    shape.keys.length + ranks.span <= CAREFUL_MAX && ranks.ranks.every((rank) => rank.length <= LINE_MAX);
  const flowing = (flow: Flow) =>
    isCareful ? carefully(shape, ranks, room, flow) : inBlocks(ranks, room, flow);
  const first = flowing(frame.width > frame.height ? 'right' : 'down');
  if (scaleOf(first, frame) >= READABLE) return first;
  const other = flowing(first.flow === 'right' ? 'down' : 'right');
  return scaleOf(other, frame) > scaleOf(first, frame) ? other : first;
}

const scaleOf = ({ width, height }: DagLayout, frame: Frame): number =>
  Math.min(1, frame.width / width, frame.height / height);

/** Few crossings, and edges that go around tasks. */
function carefully({ keys }: DagShape, { edges, rankOf }: DagRanks, room: TaskRoom, flow: Flow): DagLayout {
  const graph = new Graph();
  graph.setGraph({ rankdir: flow === 'right' ? 'LR' : 'TB', nodesep: room.beside, ranksep: room.between });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const key of keys) graph.setNode(key, { width: room.width, height: room.height });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  const places = keys.map((key) => {
    const { x, y } = graph.node(key) as Spot;
    return [key, { x: x - room.width / 2, y: y - room.height / 2 }] as const;
  });
  const passing = edges.filter(([from, to]) => (rankOf.get(to) ?? 0) - (rankOf.get(from) ?? 0) > 1);
  const bends = passing.map((edge) => {
    const { points } = graph.edge(...edge) as { readonly points: readonly Spot[] };
    // The first and the last are where it leaves one task and reaches the other.
    return [edgeName(edge), points.slice(1, -1)] as const;
  });
  return framed(places, bends, room, flow);
}

/** Rank by rank, each task near those it waits for. O(tasks log tasks + edges). */
function inBlocks({ ranks, edges }: DagRanks, room: TaskRoom, flow: Flow): DagLayout {
  const along = flow === 'right' ? room.width : room.height;
  const across = (flow === 'right' ? room.height : room.width) + room.beside;
  const order = nearParents(ranks, edges);
  const places: (readonly [string, Spot])[] = [];
  let start = 0;
  for (const rank of order) {
    const lines = Math.ceil(rank.length / LINE_MAX);
    const perLine = Math.ceil(rank.length / lines);
    for (const [index, key] of rank.entries()) {
      const line = Math.floor(index / perLine);
      const inLine = Math.min(perLine, rank.length - line * perLine);
      const a = start + line * (along + room.beside);
      const b = ((index % perLine) - (inLine - 1) / 2) * across;
      places.push([key, flow === 'right' ? { x: a, y: b } : { x: b, y: a }]);
    }
    start += lines * (along + room.beside) - room.beside + room.between;
  }
  return framed(places, [], room, flow);
}

/** Within each rank by where those are that a task waits for, on average. */
function nearParents(ranks: DagRanks['ranks'], edges: DagRanks['edges']): readonly (readonly string[])[] {
  const parents = new Map<string, string[]>();
  for (const [from, to] of edges) {
    const list = parents.get(to);
    if (list) list.push(from);
    else parents.set(to, [from]);
  }
  const position = new Map<string, number>();
  return ranks.map((rank) => {
    const wish = new Map(
      rank.map((key, index) => {
        const its = parents.get(key) ?? [];
        const sum = its.reduce((all, parent) => all + (position.get(parent) ?? 0), 0);
        return [key, its.length === 0 ? index / rank.length : sum / its.length] as const;
      }),
    );
    const sorted = rank.toSorted((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0));
    for (const [index, key] of sorted.entries()) position.set(key, (index + 0.5) / sorted.length);
    return sorted;
  });
}

/** Moved so that it begins at 0, 0. */
function framed(
  places: readonly (readonly [string, Spot])[],
  bends: readonly (readonly [string, readonly Spot[]])[],
  { width, height }: TaskRoom,
  flow: Flow,
): DagLayout {
  const corners = [
    ...places.map(([, { x, y }]) => ({ x, y, right: x + width, bottom: y + height })),
    ...bends.flatMap(([, spots]) => spots.map(({ x, y }) => ({ x, y, right: x, bottom: y }))),
  ];
  const least = (values: readonly number[]) =>
    values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = (values: readonly number[]) =>
    values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const left = least(corners.map(({ x }) => x));
  const top = least(corners.map(({ y }) => y));
  const moved = ({ x, y }: Spot): Spot => ({ x: x - left, y: y - top });
  return {
    flow,
    places: new Map(places.map(([key, spot]) => [key, moved(spot)])),
    bends: new Map(bends.map(([name, spots]) => [name, spots.map(moved)])),
    width: most(corners.map(({ right }) => right)) - left,
    height: most(corners.map(({ bottom }) => bottom)) - top,
  };
}

/** A line through spots that leaves and reaches each of them along the flow, as SVG writes it. */
export function linePath(spots: readonly Spot[], flow: Flow): string {
  return spots
    .map(({ x, y }, index) => {
      const before = spots[index - 1];
      if (!before) return `M${x},${y}`;
      const half = { x: (before.x + x) / 2, y: (before.y + y) / 2 };
      return flow === 'right'
        ? `C${half.x},${before.y} ${half.x},${y} ${x},${y}`
        : `C${before.x},${half.y} ${x},${half.y} ${x},${y}`;
    })
    .join(' ');
}
