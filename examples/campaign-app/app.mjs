// millrace start --app examples/campaign-app/app.mjs
import { campaignApp } from './campaign.mjs';

/** Stands for a mail service: takes a few milliseconds, and every tenth address does not exist. */
async function sendMail(customer) {
  await new Promise((resolve) => setTimeout(resolve, 5));
  if (customer % 10 === 7)
    return { success: false, error: { message: 'No such address', code: 'BOUNCED', retryable: false } };
  return { cents: 2 };
}

export const app = campaignApp(sendMail);
