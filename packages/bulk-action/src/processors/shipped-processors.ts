import type { ProcessorDependencies } from './dependencies.js';
import { EmailProcessor, type EmailProcessorOptions } from './email-processor.js';
import { HttpRequestProcessor, type HttpRequestProcessorOptions } from './http-request-processor.js';
import { PushNotificationProcessor, type PushNotificationProcessorOptions } from './push-processor.js';

/** The settings of the shipped processors; what is left out comes from the environment. */
export interface ShippedProcessorsOptions {
  readonly email?: EmailProcessorOptions | undefined;
  readonly push?: PushNotificationProcessorOptions | undefined;
  readonly http?: HttpRequestProcessorOptions | undefined;
}

/**
 * The processors that ship, one of each: `SEND_EMAIL`, `PUSH_NOTIFICATION`, `HTTP_REQUEST`. Close each when the engine
 * has stopped.
 * @param options - see ShippedProcessorsOptions.
 * @param dependencies - see ProcessorDependencies.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ENVIRONMENT_INVALID`.
 */
export function shippedProcessors(
  options: ShippedProcessorsOptions = {},
  dependencies: ProcessorDependencies = {},
): readonly [EmailProcessor, PushNotificationProcessor, HttpRequestProcessor] {
  return [
    new EmailProcessor(options.email, dependencies),
    new PushNotificationProcessor(options.push, dependencies),
    new HttpRequestProcessor(options.http, dependencies),
  ];
}
