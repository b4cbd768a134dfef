import type { Provider } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { ChangeAnnouncer } from '../events/change-announcer.js';
import { ChangesHub } from '../events/changes-hub.js';
import { AuditInterceptor, AuditStore } from './audit-log.js';
import { DatabaseTime } from './database-time.js';
import { Heartbeat } from './heartbeat.js';
import { InstanceReporter } from './instance-reporter.js';
import { InstanceStore } from './instance-store.js';
import { ProgressRecorder } from './progress-recorder.js';
import { ProgressStore } from './progress-store.js';
import { ServerTables } from './server-tables.js';
import { StatStore } from './stat-store.js';
import { StatsRecorder } from './stats-recorder.js';
import { StoreGauges } from './store-gauges.js';
import { Upkeep } from './upkeep.js';
import { WorkCounts } from './work-counts.js';

/** What every instance needs to be one of several, whatever its role. */
export const FLEET_PROVIDERS: readonly Provider[] = [
  AuditStore,
  ChangeAnnouncer,
  ChangesHub,
  DatabaseTime,
  Heartbeat,
  InstanceReporter,
  InstanceStore,
  ProgressRecorder,
  ProgressStore,
  ServerTables,
  StatStore,
  StatsRecorder,
  StoreGauges,
  Upkeep,
  WorkCounts,
  { provide: APP_INTERCEPTOR, useClass: AuditInterceptor },
];
