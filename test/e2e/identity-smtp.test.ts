import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { client, data, linkToken, otherPassword } from '../harness/identity.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn } from '../harness/sign-in.ts'

describe('sign-in through a real mail server', () => {
  const received: Email[] = []
  let refusing = false
  let hold: Promise<void> | undefined
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onMailFrom: (_address, _session, done) => done(refusing ? new Error('not now') : null),
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        void Promise.resolve(hold)
          .then(() => PostalMime.parse(Buffer.concat(chunks)))
          .then((mail) => {
            received.push(mail)
            done()
          })
      })
    },
  })
  let portico: Portico

  beforeAll(async () => {
    const listening = server.listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const { port } = listening.address() as AddressInfo
    portico = await startPortico({
      variables: { SMTP_URL: `smtp://127.0.0.1:${port}` },
      adjust: (settings) => {
        settings.background.attempts = 2
      },
    })
  })
  afterAll(async () => {
    await portico?.stop()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })

  const mail = async (subject: RegExp): Promise<Email> => {
    for (let attempt = 0; attempt < 400; attempt++) {
      const found = received.findLast((each) => subject.test(each.subject ?? ''))
      if (found) return found
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error(`no mail ${subject}`)
  }

  test('the code is delivered and signs in, and the new device is reported; the outbox is disabled', async () => {
    const by = client(portico)
    const email = 'owner@demo.test'
    const { sessionId } = data(await by.post('/auth/login/initiate', { email, password: 'Portico-demo-2026' }))
    data(await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' }))
    const sent = await mail(/sign-in code/)
    expect(sent.to?.[0]?.address).toBe(email)
    const code = codeIn(sent.text ?? '')
    expect(sent.html).toContain(code)
    const done = data(await by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code }))
    expect(done.tokenType).toBe('Bearer')
    expect((await mail(/new device/)).text).toContain(by.ip)
    expect((await fetch(`${portico.operationsUrl}/mail.json`)).status).toBe(404)
  })

  test('password.reset 200 with a delivered link', async () => {
    const by = client(portico)
    data(await by.post('/auth/password/forgot', { email: 'member@demo.test', turnstileToken: '' }))
    const token = linkToken((await mail(/Set a new password/)).text ?? '')
    expect((await by.post('/auth/password/reset', { token, newPassword: otherPassword })).status).toBe(200)
  })

  test('auth.mfaSend 200: does not wait for a slow mail server', async () => {
    const accepting = Promise.withResolvers<void>()
    hold = accepting.promise
    const by = client(portico)
    const email = 'member@demo.test'
    const { sessionId } = data(await by.post('/auth/login/initiate', { email, password: otherPassword }))
    const sent = await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
    expect(sent.status).toBe(200)
    const codes = () =>
      received.filter(({ to, subject }) => to?.[0]?.address === email && /sign-in code/.test(subject ?? ''))
    expect(codes()).toEqual([])
    accepting.resolve()
    hold = undefined
    await expect.poll(() => codes().length).toBe(1)
    const code = codeIn(codes()[0]?.text ?? '')
    expect((await by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code })).status).toBe(200)
  })

  test('auth.mfaSend and password.forgot 200 when the mail server rejects the mail, and a logged fault', async () => {
    refusing = true
    portico.expectFault((line) => JSON.stringify(line).includes('mail server did not accept the mail'))
    const by = client(portico)
    const email = 'owner@demo.test'
    const { sessionId } = data(await by.post('/auth/login/initiate', { email, password: 'Portico-demo-2026' }))
    const response = await by.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
    expect(response.status).toBe(200)
    expect((await by.post('/auth/password/forgot', { email, turnstileToken: '' })).status).toBe(200)
    const givenUp = (name: string) =>
      portico.log.some(({ task, msg }) => task === name && String(msg).includes('giving up'))
    await expect.poll(() => givenUp('password-forgot') && givenUp('mail-login-code')).toBe(true)
    refusing = false
  })
})
