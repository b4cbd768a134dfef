// The same campaign inside an application on NestJS: `node dist/nest.js`.
import 'reflect-metadata';
import { BulkActionModule, BulkActionService } from '@millrace/bulk-action/nestjs';
import { BatchBacking } from '@millrace/orchestrator/batch';
import { OrchestratorModule, OrchestratorService, ProblemFilter } from '@millrace/orchestrator/nestjs';
import { migrateOrchestrator, PostgresOperationStore } from '@millrace/orchestrator/postgres';
import { migrateOutbox } from '@millrace/outbox';
import { Outbox, OutboxModule } from '@millrace/outbox/nestjs';
import { PgliteDatabase } from '@millrace/postgres';
import { BadRequestException, Body, Controller, Inject, Module, Post, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { campaignDag, mailProcessor, priceAggregator, resources, routes } from './campaign.js';
import { sendMail } from './mail-service.js';

/** How long a caller waits for the end of a campaign. */
const TIME_BUDGET_MS = 3_000;

const { PORT = '3000', DATA_DIR = '.millrace/nest' } = process.env;

// One database for batches and operations, so that both end in one transaction. On a server: new PgDatabase({ url }).
const database = new PgliteDatabase({ dataDir: DATA_DIR });
await migrateOutbox(database);
await migrateOrchestrator(database);
const operations = new PostgresOperationStore({ database });

@Controller('campaigns')
class CampaignsController {
  constructor(@Inject(OrchestratorService) private readonly orchestrator: OrchestratorService) {}

  /** 200 with the totals of a campaign that ends within the budget, else 202 with the address where they will be. */
  @Post()
  async start(
    @Body() body: { name?: unknown; customers?: unknown } | undefined,
    @Res({ passthrough: true }) reply: { status(code: number): unknown },
  ) {
    const { name, customers } = body ?? {};
    if (typeof name !== 'string' || name === '') throw new BadRequestException('name must be a text');
    // Its name is also its key: asked for twice it is mailed once.
    const command = {
      domain: 'MAIL',
      eventType: 'CAMPAIGN',
      bizKey: name,
      idemKey: name,
      payload: { customers },
    };
    const { responseBodyOrNull, statusUrlOrNull } = await this.orchestrator.submit(command, TIME_BUDGET_MS);
    reply.status(responseBodyOrNull ? 200 : 202);
    return responseBodyOrNull ?? { statusUrl: statusUrlOrNull };
  }
}

@Module({
  imports: [
    // With `redis: { url }` the mails survive this process, and any number of processes send them.
    BulkActionModule.register({
      processors: [mailProcessor(sendMail)],
      aggregators: [priceAggregator],
      resources,
      shippedProcessors: false,
    }),
    OutboxModule.forRootAsync({
      inject: [BulkActionService],
      useFactory: (bulk: BulkActionService) => ({ database, dags: [campaignDag(bulk)] }),
    }),
    OrchestratorModule.forRootAsync({
      inject: [Outbox],
      useFactory: (outbox: Outbox) => ({
        routes,
        store: operations,
        backings: [new BatchBacking({ outbox, operations })],
      }),
    }),
  ],
  controllers: [CampaignsController],
  // Closed last: whoever uses it has ended by then.
  providers: [{ provide: 'DATABASE', useValue: { onApplicationShutdown: () => database.stop() } }],
})
class AppModule {}

const nest = await NestFactory.create<NestFastifyApplication>(
  AppModule,
  new FastifyAdapter({ forceCloseConnections: true }),
  { logger: ['warn', 'error'] },
);
nest.useGlobalFilters(new ProblemFilter());
nest.enableShutdownHooks([], { useProcessExit: true });
await nest.listen(Number(PORT), '127.0.0.1');
console.log(`The campaign application serves ${await nest.getUrl()}`);
