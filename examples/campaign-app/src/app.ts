// Served by `millrace start --app dist/app.js`.
import { defineApp } from 'millrace';
import { assistant } from './assistant.js';
import { campaignDag, mailProcessor, priceAggregator, resources, routes } from './campaign.js';
import { sendMail } from './mail-service.js';

export const app = defineApp(({ bulk }) => ({
  processors: [mailProcessor(sendMail)],
  aggregators: [priceAggregator],
  resources,
  dags: [campaignDag(bulk)],
  routes,
  chat: assistant(bulk),
}));
