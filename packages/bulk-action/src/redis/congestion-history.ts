import type { GroupPoint, GroupSlowness, ResourcePoint, ResourceState } from '../congestion-stats.js';

/** A point as the scripts keep it: its numbers in the order of their names here. */
type Numbers = readonly (number | null)[];

type Raw<T> = Omit<T, 'history'> & { readonly history: readonly Numbers[] };

const RESOURCE_NAMES = ['at', 'rate', 'limit', 'concurrency', 'throttles'] as const;
const GROUP_NAMES = ['at', 'rate', 'limit', 'nonReadyCount', 'backoffMs', 'throttles'] as const;

const pointOf = <Point>(names: readonly (keyof Point)[], numbers: Numbers): Point =>
  Object.fromEntries(names.map((name, at) => [name, numbers[at]])) as Point;

/** Resources as a script tells them, by name. */
export function resourceStates(text: string): ResourceState[] {
  const raw = JSON.parse(text) as readonly Raw<ResourceState>[];
  return raw
    .map(({ history, ...state }) => ({
      ...state,
      history: history.map((numbers) => pointOf<ResourcePoint>(RESOURCE_NAMES, numbers)),
    }))
    .sort((a, b) => (a.resource < b.resource ? -1 : 1));
}

/** A group as a script tells it. */
export function slownessOf(text: string | undefined): GroupSlowness | undefined {
  if (text === undefined) return undefined;
  const { history, ...slowness } = JSON.parse(text) as Raw<GroupSlowness>;
  return { ...slowness, history: history.map((numbers) => pointOf<GroupPoint>(GROUP_NAMES, numbers)) };
}
