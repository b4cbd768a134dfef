import { useSyncExternalStore } from 'react';
import type { Frame } from '../../rules/dag-layout.js';

const NARROW = '(max-width: 760px)';
/** About what batch.css gives the picture: the layout follows from one of two sizes, so that it is not another one at every width. */
const WIDE_FRAME: Frame = { width: 650, height: 388 };
const NARROW_FRAME: Frame = { width: 320, height: 328 };

const follow = (onChange: () => void): (() => void) => {
  const query = matchMedia(NARROW);
  query.addEventListener('change', onChange);
  return () => query.removeEventListener('change', onChange);
};

/** How large the picture of a DAG is here. */
export const useFrame = (): Frame =>
  useSyncExternalStore(follow, () => (matchMedia(NARROW).matches ? NARROW_FRAME : WIDE_FRAME));
