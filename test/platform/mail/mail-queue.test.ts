import { expect, test } from 'vitest'
import { createBackgroundWork } from '../../../src/platform/background-work.ts'
import { createMailQueue, type MailQueue } from '../../../src/platform/mail/index.ts'
import { systemRandomness } from '../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../banking/world.ts'

const code = {
  to: 'owner@demo.test',
  template: 'login-code',
  locale: 'en',
  values: { code: '123456', minutes: '10' },
} as const

function created(send: MailQueue['send'], capacity = 2) {
  const logged: unknown[] = []
  const log = { warn: () => undefined, error: (line: unknown) => void logged.push(line) }
  const settings = { concurrency: 1, capacity, spreadMs: 0, attempts: 2, retryMs: 1, closeMs: 200 }
  const background = createBackgroundWork(settings, log, systemRandomness)
  return { background, logged, queue: createMailQueue({ send }, background) }
}

test('send: returns before the mail server accepts the mail', async () => {
  const accepting = Promise.withResolvers<void>()
  const sent: string[] = []
  const { background, queue } = created(async ({ to }) => {
    await accepting.promise
    sent.push(to)
  })
  await queue.send(code)
  expect(sent).toEqual([])
  accepting.resolve()
  await background.idle()
  expect(sent).toEqual([code.to])
})

test('send: retries, then logs the task and counts it as dropped', async () => {
  const failed = new Error('the mail server did not accept the mail')
  const { background, logged, queue } = created(() => Promise.reject(failed))
  await queue.send(code)
  await background.idle()
  expect(logged).toMatchObject([{ task: 'mail-login-code', attempt: 2, err: failed }])
  expect(background.dropped()).toBe(1)
})

test('send: SYSTEM.UNAVAILABLE while the queue is full, and after it is closed', async () => {
  const accepting = Promise.withResolvers<void>()
  const { background, queue } = created(() => accepting.promise)
  await queue.send(code)
  await queue.send(code)
  expect(await refusalOf(queue.send(code))).toBe('SYSTEM.UNAVAILABLE')
  accepting.resolve()
  await background.idle()
  await queue.send(code)
  await background.close()
  expect(await refusalOf(queue.send(code))).toBe('SYSTEM.UNAVAILABLE')
})
