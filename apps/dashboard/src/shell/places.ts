import type { ViewId } from '@millrace/contract/server-client';
import type { IconName } from '../parts/icon.js';

/** A view that people go to. */
export interface Place {
  readonly view: ViewId & IconName;
  readonly name: string;
  /** Tells of all tenants: shown to those only who may look at them. */
  readonly isShared?: boolean;
}

/** The views that people go to; the others are below them. */
export const PLACES: readonly Place[] = [
  { view: 'overview', name: 'Overview' },
  { view: 'groups', name: 'Groups' },
  { view: 'deadLetters', name: 'Dead letters' },
  { view: 'batches', name: 'Batches' },
  { view: 'operations', name: 'Operations' },
  { view: 'congestion', name: 'Congestion' },
  { view: 'chat', name: 'Chat' },
  { view: 'workers', name: 'Workers', isShared: true },
];
