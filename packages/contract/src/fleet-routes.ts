import { AuditPage, AuditQuery } from './audit.js';
import { WatchEvent } from './changes.js';
import { InstanceList, PoolBody, ScaleRequest, ScaleResponse } from './fleet.js';
import { defineRoutes, eventStream } from './route.js';
import { StatsBody, StatsQuery } from './stats.js';

/** Routes of all instances together. */
export const FLEET_ROUTES = defineRoutes(
  { tag: 'Fleet', role: 'read', tenancy: 'shared', fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'] },
  {
    listInstances: {
      summary: 'List instances',
      description:
        'Every process of this server, the work it runs and the state of its backends. Stopped instances are listed for a day.',
      ok: InstanceList,
    },
    getPool: {
      summary: 'Get the worker pool',
      description: 'The pool of the responding instance, and the number of workers of each instance.',
      ok: PoolBody,
    },
    scalePool: {
      summary: 'Scale the worker pool',
      description:
        'Sets the number of workers of one instance, or of each, until it restarts. Surplus workers finish their job first. ' +
        'Instances with the role api run no jobs and cannot be scaled.',
      role: 'admin',
      audited: true,
      body: ScaleRequest,
      ok: ScaleResponse,
      fails: ['INSTANCE_NOT_FOUND'],
    },
    getStats: {
      summary: 'Get statistics of the last hours',
      description:
        'The work of all instances and the contents of the stores, every 10 seconds for an hour or every minute for a day.',
      query: StatsQuery,
      ok: StatsBody,
    },
    listAudit: {
      summary: 'List the audit log',
      description:
        'Changes of work and settings over HTTP, newest first, for 90 days. A key that belongs to a tenant sees the changes made with keys of that tenant.',
      role: 'admin',
      tenancy: 'own',
      query: AuditQuery,
      ok: AuditPage,
    },
    watchChanges: {
      summary: 'Watch all changes',
      description:
        'Server-sent events: hello at once, then changes, about one a second while something changes; data is JSON. ' +
        'A slow client gets fewer and larger events. A key that belongs to a tenant gets changes of that tenant.',
      tenancy: 'own',
      streams: true,
      ok: { 200: eventStream(WatchEvent) },
    },
  },
);
