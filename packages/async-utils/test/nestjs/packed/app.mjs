/** An application on the packed package, in plain JavaScript: decorators are applied by hand. Prints what it saw. */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import {
  AsyncUtilsModule,
  ConcurrencyLimit,
  Retryable,
  RetryInterceptor,
  Timeout,
  TimeoutInterceptor,
} from '@millrace/async-utils/nestjs';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Optional,
  Scope,
  UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';

function decorate(target, key, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(target, key);
  for (const decorator of decorators.toReversed()) decorator(target, key, descriptor);
  Object.defineProperty(target, key, descriptor);
}

class Service {
  tries = 0;
  async work() {
    if (++this.tries === 1) return new Promise(() => {});
    if (this.tries < 4) throw new Error('not yet');
    return this.tries;
  }
}
decorate(Service.prototype, 'work', Timeout(), ConcurrencyLimit(1), Retryable());

/** Request-scoped, with an optional dependency that nobody provides. */
class Scoped {
  tries = 0;
  constructor(nothing) {
    this.nothing = nothing;
  }
  async work() {
    this.tries++;
    throw new Error('always');
  }
}
decorate(Scoped.prototype, 'work', Retryable());
Inject('nothing')(Scoped, undefined, 0);
Optional()(Scoped, undefined, 0);
Injectable({ scope: Scope.REQUEST })(Scoped);

/** Calls a decorated method while the application starts, deep down in the modules. */
class Early extends Service {
  async onModuleInit() {
    this.result = await this.work();
  }
}
class Deep {}
Module({ providers: [Early] })(Deep);
class Middle {}
Module({ imports: [Deep] })(Middle);

class AppController {
  constructor(service, scoped) {
    this.service = service;
    this.scoped = scoped;
  }
  async work() {
    return { tries: await this.service.work() };
  }
  async scopedWork() {
    await this.scoped.work().catch(() => {});
    return { tries: this.scoped.tries };
  }
  async flaky() {
    AppController.calls = (AppController.calls ?? 0) + 1;
    if (AppController.calls < 3) throw new Error('not yet');
    return { calls: AppController.calls };
  }
  async hanging() {
    return new Promise(() => {});
  }
}
Controller()(AppController);
Inject(Service)(AppController, undefined, 0);
Inject(Scoped)(AppController, undefined, 1);
decorate(AppController.prototype, 'work', Get('work'));
decorate(AppController.prototype, 'scopedWork', Get('scoped'));
decorate(AppController.prototype, 'flaky', Get('flaky'), UseInterceptors(RetryInterceptor));
decorate(AppController.prototype, 'hanging', Get('hanging'), UseInterceptors(TimeoutInterceptor));

class Root {}
Module({
  imports: [
    Middle,
    AsyncUtilsModule.forRootAsync({
      useFactory: async () => ({ retry: { retries: 5, backoff: () => 0 }, timeout: { ms: 20 } }),
    }),
  ],
  controllers: [AppController],
  providers: [Service, Scoped],
})(Root);

const app = await NestFactory.create(Root, new FastifyAdapter(), { logger: false, abortOnError: false });
await app.init();
const get = async (url) => {
  const response = await app.inject(url);
  return [response.statusCode, response.json()];
};
const seen = {
  nest: createRequire(import.meta.url)('@nestjs/core/package.json').version,
  early: app.get(Early).result,
  work: await get('/work'),
  scoped: await get('/scoped'),
  flaky: await get('/flaky'),
  hanging: await get('/hanging'),
};
await app.close();
console.log(JSON.stringify(seen));
