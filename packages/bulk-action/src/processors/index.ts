/**
 * The processors that ship: `SEND_EMAIL`, `PUSH_NOTIFICATION`, `HTTP_REQUEST`. Plain classes, each usable by itself.
 *
 * @packageDocumentation
 */
export type { AddressRules } from './address-guard.js';
export type { Environment, ProcessorDependencies, ResolveHost } from './dependencies.js';
export type { EmailPayload } from './email-message.js';
export {
  EmailProcessor,
  type EmailProcessorOptions,
  type EmailResult,
  type ResolvedEmailProcessorOptions,
} from './email-processor.js';
export type { HttpRequestPayload } from './http-payload.js';
export {
  HttpRequestProcessor,
  type HttpRequestProcessorOptions,
  type HttpRequestResult,
  type ResolvedHttpRequestProcessorOptions,
} from './http-request-processor.js';
export {
  type PushNotificationPayload,
  PushNotificationProcessor,
  type PushNotificationProcessorOptions,
  type PushNotificationResult,
} from './push-processor.js';
export type { PushNotification, PushSubscription, PushTransport } from './push-transport.js';
export { type ShippedProcessorsOptions, shippedProcessors } from './shipped-processors.js';
export {
  type ResolvedWebPushTransportOptions,
  WebPushTransport,
  type WebPushTransportOptions,
} from './web-push-transport.js';
