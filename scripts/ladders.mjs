import { posix } from 'node:path';
import { targetOf } from './source-files.mjs';

/**
 * Checks that imports go from a later step of a ladder to an earlier one. `debt` has the number of imports that break a ladder today. It may only go
 * down.
 * @returns {{ problems: string[], lowered: Record<string, number> }} `lowered` is the debt as it should be written now
 */
export function ladderProblems(files, ladders, debt) {
  const problems = [];
  const lowered = {};
  const places = [...Object.keys(ladders), ...files.flatMap(({ path }) => sourceFolder(path))];
  for (const place of new Set(places)) {
    if (!ladders[place]) {
      problems.push(`${place} has no ladder; add it to LADDERS in scripts/import-rules.mjs`);
      continue;
    }
    const { broken, graph, unplaced } = climb(place, stepsOf(ladders[place]), files);
    problems.push(...unplaced, ...debtProblems(place, broken, debt[place] ?? 0));
    if (broken.length === 0) problems.push(...cycles(graph).map((cycle) => `cycle of folders: ${cycle}`));
    if (broken.length > 0 && debt[place]) lowered[place] = Math.min(broken.length, debt[place]);
  }
  return { problems, lowered };
}

const stepsOf = (ladder) => ladder.split('<').map((names) => names.trim().split(/\s+/));

const sourceFolder = (path) => /^.+?\/src(?=\/)/.exec(path)?.[0] ?? [];

/** Finds the imports that break the ladder of one place, and the graph of its folders. */
function climb(place, ladder, files) {
  const here = files.filter(({ path }) => path.startsWith(`${place}/`));
  const paths = new Set(here.map(({ path }) => path));
  const broken = [];
  const unplaced = new Set();
  const graph = new Map();
  for (const file of here) {
    const step = stepOf(place, ladder, file.path);
    const folder = folderOf(place, step, file.path);
    if (step < 0)
      unplaced.add(`${folder} has no step in the ladder of ${place}; add it to scripts/import-rules.mjs`);
    if (!graph.has(folder)) graph.set(folder, new Set());
    for (const target of new Set(file.imports.map(({ from }) => targetOf(file.path, from, paths)))) {
      if (!paths.has(target)) continue;
      const below = stepOf(place, ladder, target);
      if (below > step)
        broken.push(`${file.path} imports ${target}, which comes later in the ladder of ${place}`);
      const other = folderOf(place, below, target);
      if (other !== folder) graph.get(folder).add(other);
    }
  }
  return { broken: broken.sort(), graph, unplaced };
}

/** The step of a file: that of its folder or, directly in the place, that of its name or '.'. `index` comes last. */
function stepOf(place, ladder, path) {
  const [first, ...rest] = path.slice(place.length + 1).split('/');
  const name = rest.length > 0 ? first : first.replace(/\.\w+$/, '');
  const step = ladder.findIndex((names) => names.includes(name));
  if (step >= 0 || rest.length > 0) return step;
  return name === 'index' ? ladder.length : ladder.findIndex((names) => names.includes('.'));
}

/** Files directly in the place form one folder for each of their steps. */
const folderOf = (place, step, path) =>
  posix.dirname(path) === place ? `${place} (step ${step + 1})` : posix.dirname(path);

function debtProblems(place, broken, allowed) {
  if (broken.length === allowed) return [];
  if (broken.length > allowed)
    return [
      ...broken,
      `${place}: ${broken.length} imports break its ladder, ${allowed} are allowed; import downwards, or move the file`,
    ];
  return [
    `${place}: ${broken.length} imports break its ladder, scripts/ladder-debt.json says ${allowed}; run node scripts/check-imports.mjs --write`,
  ];
}

/** Finds every cycle of a graph once, as a chain that ends where it began. */
export function cycles(graph) {
  const found = new Map();
  const finished = new Set();
  const visit = (node, trail) => {
    if (finished.has(node) || !graph.has(node)) return;
    const start = trail.indexOf(node);
    if (start >= 0) {
      const cycle = trail.slice(start);
      found.set([...cycle].sort().join(), [...cycle, node].join(' → '));
      return;
    }
    for (const target of graph.get(node)) visit(target, [...trail, node]);
    finished.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return [...found.values()];
}
