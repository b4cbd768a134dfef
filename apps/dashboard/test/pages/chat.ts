import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { seriousFindings } from '../browser.js';
import type { World } from '../world.js';

const HOSTILE = '<img src=x onerror=alert(1)>';
/** Repeated by what answers, at 30 ms a word: some of them run for as long as anybody needs to look. */
const LONG = 'o '.repeat(250);
const PATIENT = { timeout: 15_000 };
const STREAM = /\/tasks\/([^/]+)\/stream$/;

const viewOf = (sessionId: string): string => `/chat/${encodeURIComponent(sessionId)}`;
const messagesOf = (page: Page) => page.getByRole('region', { name: 'Messages' });

/** The chat. */
export function chatPage(world: () => World): void {
  const made = async (session_id: string, tenant?: string): Promise<string> => {
    const body = { session_id, ...(tenant !== undefined && { tenant }) };
    return (await world().api.call('createChatSession', { body })).session_id;
  };
  const turnsOf = async (sessionId: string) =>
    (await world().api.call('getChatSession', { params: { sessionId } })).turns;
  const endsOf = async (sessionId: string) => {
    const { messages } = await world().api.call('getChatSession', { params: { sessionId } });
    const ids = new Set(messages.map((message) => message.task_id));
    const asked = [...ids].map((taskId) =>
      world().api.call('getChatTaskStatus', { params: { sessionId, taskId } }),
    );
    return (await Promise.all(asked)).map(({ status }) => status);
  };

  it('makes a session and streams an answer piece by piece, by keys alone; markup stays text', async () => {
    await using opened = await world().open('/chat');
    const { page } = opened;
    await page.getByRole('button', { name: 'New session' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type(HOSTILE);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: HOSTILE }).waitFor();
    await page.getByRole('textbox', { name: 'Message' }).focus();
    await page.evaluate(() => {
      const seen = new Set<number>();
      Object.assign(globalThis, { seen });
      const look = () => seen.add(document.querySelector('.chat-answer')?.textContent?.length ?? 0);
      new MutationObserver(look).observe(document.body, {
        subtree: true,
        childList: true,
        characterData: true,
      });
    });
    await page.keyboard.type(`${HOSTILE} one`);
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('two');
    await page.keyboard.press('Enter');
    const { api } = world();
    const kept = async () =>
      (await api.call('getChatSession', { params: { sessionId: HOSTILE } })).messages.map(
        (one) => one.content,
      );
    await expect.poll(async () => (await kept()).length, PATIENT).toBe(2);
    const [question = '', answer = ''] = await kept();
    expect(question).toBe(`${HOSTILE} one\ntwo`);
    await expect.poll(() => messagesOf(page).textContent(), PATIENT).toContain(answer);
    expect(await messagesOf(page).textContent()).toContain(question);
    const seen = await page.evaluate(() => (globalThis as unknown as { seen: Set<number> }).seen.size);
    expect(seen).toBeGreaterThan(3);
    await expect
      .poll(() => page.locator('[aria-live]').allTextContents(), PATIENT)
      .toContain(`Answer: ${answer}`);
  });

  it('stops the turn that runs, cancels one that waits, and keeps a message that is refused', async () => {
    const sessionId = await made('in order', 'page');
    await using opened = await world().open(viewOf(sessionId));
    const { page } = opened;
    const box = page.getByRole('textbox', { name: 'Message' });
    for (let sent = 0; sent < 3; sent++) {
      await box.fill(LONG);
      await box.press('Enter');
      await expect.poll(() => box.inputValue(), PATIENT).toBe('');
    }
    await page.getByRole('button', { name: 'Cancel this turn' }).first().click();
    await expect.poll(() => messagesOf(page).getByText('Cancelled').count(), PATIENT).toBe(1);
    // One that ends at this very moment cannot be stopped; the next one can.
    await expect
      .poll(async () => {
        const count = await messagesOf(page).getByText('Cancelled').count();
        const stop = page.getByRole('button', { name: 'Stop this turn' });
        if (count < 2 && (await stop.count()) > 0) await stop.click();
        return count;
      }, PATIENT)
      .toBe(2);
    expect((await endsOf(sessionId)).filter((status) => status === 'CANCELLED')).toHaveLength(2);
    await box.fill('x'.repeat(100_001));
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    expect(await page.getByText('100,001 of 100,000 characters').isVisible()).toBe(true);
    await page.route(/\/queue$/, (route) => route.abort());
    await box.fill('not lost');
    await box.press('Enter');
    await page.getByRole('alert').getByText('may have arrived or not').waitFor();
    expect(await box.inputValue()).toBe('not lost');
  });

  it('streams a turn that others began, again after a break, and not while nobody looks', async () => {
    const sessionId = await made('begun elsewhere', 'page');
    const { api } = world();
    const params = { sessionId };
    for (let queued = 0; queued < 4; queued++)
      await api.call('queueChatMessage', { params, body: { message: LONG } });
    const cancel = (taskId: string) => api.call('cancelChatTask', { params: { ...params, taskId } });
    await using opened = await world().open('/chat?tenant=page');
    const { page } = opened;
    let streams = 0;
    await page.route(STREAM, (route) => {
      const cut = 'event: start\ndata: {}\n\nevent: token\ndata: {"text":"cut off here"}\n\n';
      return ++streams === 1
        ? route.fulfill({ contentType: 'text/event-stream', body: cut })
        : route.continue();
    });
    await page.getByRole('link', { name: /begun elsewhere/ }).click();
    const messages = messagesOf(page);
    await messages.getByText('This is the demo runtime').first().waitFor();
    expect(await messages.textContent()).not.toContain('cut off here');
    const seen = (isSeen: boolean) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, !isSeen);
    const next = page.waitForRequest(STREAM);
    await cancel((await turnsOf(sessionId))[0]?.task_id ?? '');
    const stream = await next;
    const closed = page.waitForEvent('requestfailed', (request) => request === stream);
    await seen(false);
    await closed;
    // Closed because nobody looked, and not because the turn was over.
    const [, taskId = ''] = STREAM.exec(stream.url()) ?? [];
    expect((await turnsOf(sessionId)).map((turn) => turn.task_id)).toContain(taskId);
    const again = page.waitForRequest(STREAM);
    await seen(true);
    await again;
    await messages.getByText('Streaming').first().waitFor();
    for (const turn of (await turnsOf(sessionId)).reverse()) await cancel(turn.task_id);
    await expect.poll(() => messages.getByRole('button').count(), PATIENT).toBe(0);
    expect(await endsOf(sessionId)).toContain('CANCELLED');
  });

  it('says kindly that a session is gone, and is one column after the other on a phone', async () => {
    const sessionId = await made('on a phone', 'page');
    await using opened = await world().open('/chat?tenant=page', { viewport: { width: 390, height: 844 } });
    const { page } = opened;
    await page.getByRole('link', { name: /on a phone/ }).click();
    await messagesOf(page).getByText('Nothing has been said yet').waitFor();
    expect(new URL(page.url()).pathname).toBe(viewOf(sessionId));
    expect(await page.getByRole('navigation', { name: 'Sessions' }).isVisible()).toBe(false);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('navigation', { name: 'Way up' }).getByRole('link', { name: 'Chat' }).click();
    await page.getByRole('link', { name: /on a phone/ }).waitFor();
    await page.goto(`${world().url}/chat/page%2Fnever`);
    await page.getByRole('heading', { name: 'This conversation is not here any more' }).waitFor();
  });
}
