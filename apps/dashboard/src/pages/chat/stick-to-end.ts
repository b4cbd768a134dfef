import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react';

/** So near the end counts as being there: nobody scrolls to the last pixel. */
const NEAR_PX = 48;

/** A part that follows its end while somebody reads there, and stays where it is while they read above. */
export interface StuckToEnd {
  readonly frame: RefObject<HTMLElement | null>;
  readonly isAway: boolean;
  readonly onScroll: () => void;
  readonly toEnd: () => void;
}

/** See StuckToEnd. What grows in it must be drawn by whoever uses this. */
export function useStickToEnd(): StuckToEnd {
  const frame = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const onScroll = useCallback(() => {
    const shown = frame.current;
    if (!shown) return;
    isAtEnd.current = shown.scrollHeight - shown.scrollTop - shown.clientHeight < NEAR_PX;
    setAway(!isAtEnd.current);
  }, []);
  const toEnd = useCallback(() => {
    isAtEnd.current = true;
    setAway(false);
    if (frame.current) frame.current.scrollTop = frame.current.scrollHeight;
  }, []);
  // After every drawing: whatever has grown, its end is what is read.
  useLayoutEffect(() => {
    if (isAtEnd.current && frame.current) frame.current.scrollTop = frame.current.scrollHeight;
  });
  return { frame, isAway, onScroll, toEnd };
}
