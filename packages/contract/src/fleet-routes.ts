import { AuditPage, AuditQuery } from './audit.js';
import { WatchEvent } from './changes.js';
import { InstanceList, PoolBody, ScaleRequest, ScaleResponse } from './fleet.js';
import { defineRoute, INVALID, json, problems, UNAVAILABLE } from './route.js';
import { StatsBody, StatsQuery } from './stats.js';

const tag = 'Fleet';

/** Everything that can be asked of all instances together. */
export const FLEET_ROUTES = {
  listInstances: defineRoute('listInstances', {
    tag,
    summary: 'List the instances',
    description:
      'Every process of this server, what it runs and how it sees its backends; those gone for a day.',
    role: 'read',
    tenancy: 'shared',
    answers: { 200: json('All of them.', InstanceList), ...problems({ 503: UNAVAILABLE }) },
  }),
  getPool: defineRoute('getPool', {
    tag,
    summary: 'Look at the worker pool',
    description: 'The pool of the instance that answers, and how many workers each instance has.',
    role: 'read',
    tenancy: 'shared',
    answers: { 200: json('The pool.', PoolBody), ...problems({ 503: UNAVAILABLE }) },
  }),
  scalePool: defineRoute('scalePool', {
    tag,
    summary: 'Scale the worker pool',
    description:
      'Changes how many workers one instance has, or each one. It lasts until the instance is restarted. Surplus workers finish their job first.',
    role: 'admin',
    tenancy: 'shared',
    audited: true,
    body: ScaleRequest,
    answers: {
      200: json('They were told.', ScaleResponse),
      ...problems({
        400: INVALID,
        404: 'INSTANCE_NOT_FOUND: there is no live instance of this id that runs jobs (those with the role api run none).',
        503: UNAVAILABLE,
      }),
    },
  }),
  getStats: defineRoute('getStats', {
    tag,
    summary: 'Look at the last hours',
    description:
      'What all instances did and what the stores held, in points of 10 seconds for an hour or of a minute for a day.',
    role: 'read',
    tenancy: 'shared',
    query: StatsQuery,
    answers: { 200: json('The points.', StatsBody), ...problems({ 400: INVALID, 503: UNAVAILABLE }) },
  }),
  listAudit: defineRoute('listAudit', {
    tag,
    summary: 'Who changed what',
    description:
      'Changes of work and settings over HTTP, newest first, for 90 days. A key of a tenant sees what keys of its tenant did.',
    role: 'admin',
    tenancy: 'own',
    query: AuditQuery,
    answers: { 200: json('A page.', AuditPage), ...problems({ 400: INVALID, 503: UNAVAILABLE }) },
  }),
  watchChanges: defineRoute('watchChanges', {
    tag,
    summary: 'Watch everything',
    description:
      'Server-sent events: hello at once, then changes, about once a second while something changes; data is JSON. A client that reads slowly gets fewer and larger ones. A key of a tenant hears of its tenant.',
    role: 'read',
    tenancy: 'own',
    streams: true,
    answers: {
      200: { description: 'The stream.', contentType: 'text/event-stream', schema: WatchEvent },
      ...problems({ 429: 'STREAMS_FULL: as many streams are open as there may be.' }),
    },
  }),
} as const;
