import { afterAll, beforeAll, expect, test } from 'vitest'
import { changePassword } from '../../../src/identity/passwords/contract.ts'
import type { Caller } from '../../../src/kernel/index.ts'
import type { Mailer } from '../../../src/platform/mail/index.ts'
import {
  call,
  codeOf,
  createRequestContext,
  credential,
  type Harness,
  harness,
  jobRunner,
  runJobs,
  signIn,
} from '../harness.ts'

let at: Harness
let isMailDown = false
beforeAll(async () => {
  at = await harness(undefined, (ports) => {
    const { mailer } = ports
    const send: Mailer['send'] = async (mail) => {
      if (isMailDown) throw new Error('no mail server')
      return mailer.send(mail)
    }
    ports.mailer = { ...mailer, send }
  })
})
afterAll(() => at.close())

function noticesTo(email: string): string[] {
  return at.outbox
    .list()
    .filter(({ to, template }) => to === email && ['security-change', 'new-device'].includes(template))
    .map(({ template }) => template)
}

async function signedIn(email: string): Promise<Caller> {
  await at.account(email)
  const { accessToken } = await signIn(at, email)
  await runJobs(at)
  return at.identity.authentication.accessToken(credential(accessToken))
}
function change(caller: Caller, currentPassword: string) {
  return call(
    at.identity,
    changePassword,
    createRequestContext(at.clock),
    { currentPassword, newPassword: 'violet-Anchor-Tundra-58' },
    caller,
  )
}

test('a notice is retried after a mail failure, by another process if the first one has stopped', async () => {
  const email = 'waits@demo.test'
  const caller = await signedIn(email)
  const before = noticesTo(email)
  await change(caller, 'correct horse battery staple')
  isMailDown = true
  const [first, second] = [jobRunner(at), jobRunner(at)]
  expect(await first.runOne()).toBe(true)
  isMailDown = false
  await first.stop()
  expect(noticesTo(email)).toEqual(before)
  at.clock.advance(5_000)
  await runJobs(at, second)
  expect(noticesTo(email)).toEqual(['security-change', ...before])
  await runJobs(at)
  expect(noticesTo(email)).toHaveLength(before.length + 1)
})

test('password.change 401: mails no notice', async () => {
  const email = 'nothing@demo.test'
  const caller = await signedIn(email)
  const before = noticesTo(email)
  expect(await codeOf(change(caller, 'not the present password'))).toBe('AUTH.INVALID_CREDENTIALS')
  at.clock.advance(5_000)
  await runJobs(at)
  expect(noticesTo(email)).toEqual(before)
})
