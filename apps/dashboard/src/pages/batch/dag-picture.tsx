import type { BatchTaskSummary } from '@millrace/contract';
import {
  BaseEdge,
  Controls,
  type EdgeProps,
  type EdgeTypes,
  type NodeChange,
  type NodeTypes,
  Panel,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { type DagLayout, type Frame, layOut, linePath } from '../../rules/dag-layout.js';
import type { DagEdge } from '../../rules/dag-ranks.js';
import './dag-picture.css';
import {
  drawnEdges,
  LARGE_MAX,
  type LineEdge as Line,
  leavesOut,
  nodesOf,
  roomFor,
  type TaskNode,
} from './drawn-dag.js';
import { LargeTask, SmallTask } from './task-node.js';

const NODE_TYPES: NodeTypes = { task: LargeTask, small: SmallTask };
const EDGE_TYPES: EdgeTypes = { line: LineEdge };
/** The controls stand below the tasks, not on them. */
const FIT = {
  padding: { top: '16px', right: '16px', bottom: '56px', left: '16px' },
  maxZoom: 1,
  minZoom: 0.05,
} as const;
const WORDS = {
  'node.a11yDescription.default': 'Press Enter to look at the task.',
  'node.a11yDescription.keyboardDisabled': 'Press Enter to look at the task.',
  'controls.ariaLabel': 'The size of the picture',
  'controls.zoomIn.ariaLabel': 'Larger',
  'controls.zoomOut.ariaLabel': 'Smaller',
  'controls.fitView.ariaLabel': 'Show all',
} as const;

interface DagPictureProps {
  readonly tasks: readonly BatchTaskSummary[];
  readonly edges: readonly DagEdge[];
  /** The keys of the critical path. */
  readonly path: readonly string[];
  /** '' for none. */
  readonly chosen: string;
  readonly onChoose: (key: string) => void;
}

/** The DAG of a batch with the states of its tasks. Places change only when tasks or edges come, so nothing moves while it runs. */
export function DagPicture(props: DagPictureProps): ReactNode {
  return (
    <ReactFlowProvider>
      <Drawing {...props} />
    </ReactFlowProvider>
  );
}

/** Nothing in it can be moved, connected or taken away. */
const ONLY_LOOKED_AT = {
  nodesDraggable: false,
  nodesConnectable: false,
  edgesFocusable: false,
  deleteKeyCode: null,
  selectionKeyCode: null,
  multiSelectionKeyCode: null,
} as const;

const CONTROLS = {
  showInteractive: false,
  fitViewOptions: FIT,
  position: 'bottom-left',
  orientation: 'horizontal',
} as const;

function Drawing({ tasks, edges, path, chosen, onChoose }: DagPictureProps): ReactNode {
  const frame = useFrame();
  const names = tasks.map(({ key }) => key).join('\0');
  const { room, layout } = useMemo(() => {
    const keys = names.split('\0');
    const its = roomFor(keys);
    return { room: its, layout: layOut({ keys, edges }, its, frame) };
  }, [names, edges, frame]);
  const drawn = useRef<readonly TaskNode[]>([]);
  const nodes = useMemo(() => {
    const next = nodesOf({ tasks, layout, room, chosen }, drawn.current);
    drawn.current = next;
    return next;
  }, [tasks, layout, room, chosen]);
  const lines = useMemo(
    () => drawnEdges({ tasks, chosen, layout }, edges, path),
    [tasks, chosen, layout, edges, path],
  );
  const moved = useFitted(layout, frame);
  const hasMore = useStore(
    ({ width, height, transform: [, , zoom] }) =>
      layout.width * zoom > width || layout.height * zoom > height,
  );

  const change = (changes: readonly NodeChange<TaskNode>[]) => {
    const picks = changes.filter((one) => one.type === 'select');
    const keyOf = (id: string) => tasks.find((task) => task.id === id)?.key;
    const picked = picks.find(({ selected }) => selected);
    if (picked) onChoose(keyOf(picked.id) ?? '');
    else if (picks.some(({ id }) => keyOf(id) === chosen)) onChoose('');
  };
  return (
    <ReactFlow
      nodes={nodes}
      edges={lines}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      onNodesChange={change}
      onMoveStart={(event) => {
        if (event) moved.current = true;
      }}
      onKeyDown={keepPlace}
      ariaLabelConfig={WORDS}
      {...ONLY_LOOKED_AT}
      // Where all of it is seen, a finger that moves over it moves the page.
      panOnDrag={hasMore}
      zoomOnScroll={false}
      zoomOnDoubleClick={false}
      preventScrolling={false}
      onlyRenderVisibleElements={tasks.length > LARGE_MAX}
      minZoom={FIT.minZoom}
      maxZoom={2}
      fitView
      fitViewOptions={FIT}
    >
      {leavesOut(edges) && (
        <Panel position="bottom-center" className="small quiet batch-lines-note">
          Lines: the critical path and the chosen task
        </Panel>
      )}
      <Controls {...CONTROLS} />
    </ReactFlow>
  );
}

/** Draws a dependency around the tasks between its ends. */
function LineEdge({ id, sourceX, sourceY, targetX, targetY, data }: EdgeProps<Line>): ReactNode {
  const spots = [{ x: sourceX, y: sourceY }, ...(data?.bends ?? []), { x: targetX, y: targetY }];
  return <BaseEdge id={id} path={linePath(spots, data?.flow ?? 'right')} interactionWidth={0} />;
}

/** The space bar chooses a task, it does not turn the page. */
function keepPlace(event: KeyboardEvent): void {
  if (event.key === ' ' && event.target instanceof Element && event.target.matches('.react-flow__node'))
    event.preventDefault();
}

/** Shows all of a new layout, unless somebody has chosen what to look at; tells whether they have. */
function useFitted(layout: DagLayout, frame: Frame): { current: boolean } {
  const { fitView } = useReactFlow();
  const moved = useRef(false);
  const last = useRef({ layout, frame });
  useEffect(() => {
    if (last.current.layout === layout) return;
    if (last.current.frame !== frame) moved.current = false;
    last.current = { layout, frame };
    if (!moved.current) void fitView(FIT);
  }, [layout, frame, fitView]);
  return moved;
}

const NARROW = '(max-width: 760px)';
// About the sizes in batch.css. The layout has one of two sizes, so it does not change with every width.
const WIDE_FRAME: Frame = { width: 650, height: 388 };
const NARROW_FRAME: Frame = { width: 320, height: 328 };

const follow = (onChange: () => void): (() => void) => {
  const query = matchMedia(NARROW);
  query.addEventListener('change', onChange);
  return () => query.removeEventListener('change', onChange);
};

/** The size of the picture in this window. */
const useFrame = (): Frame =>
  useSyncExternalStore(follow, () => (matchMedia(NARROW).matches ? NARROW_FRAME : WIDE_FRAME));
