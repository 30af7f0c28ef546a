import { hash } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DeclarationError, locales, Refusal } from '../../../src/kernel/index.ts'
import {
  createOutbox,
  type MailTexts,
  openSmtpMailer,
  outboxPage,
  readMailTexts,
} from '../../../src/platform/mail/index.ts'
import { mailNames, mailTexts as texts } from '../../harness/mails.ts'
import { testClock } from '../../identity/clock.ts'

const received: { raw: Buffer; to: string[] }[] = []
const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  // By default, a closed server waits 30 seconds for the connections that a test has left open.
  closeTimeout: 1,
  onData: (stream, session, done) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      received.push({ raw: Buffer.concat(chunks), to: session.envelope.rcptTo.map((each) => each.address) })
      done()
    })
  },
})
let url: string
const from = 'Portico <no-reply@portico.test>'

function portOf(listening: Server): number {
  const address = listening.address()
  if (typeof address !== 'object' || !address) throw new Error('not listening')
  return address.port
}

beforeAll(async () => {
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  url = `smtp://127.0.0.1:${portOf(listening)}`
})
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())))

const invite = { to: 'ann@demo.test', template: 'invitations.workspace-invitation' } as const
const values = { code: '123456', minutes: '10', purpose: 'Confirm a transfer' }

describe('the SMTP mailer', () => {
  test('delivers subject, text and HTML in each language', async () => {
    const mailer = await openSmtpMailer({ url, from, timeoutMs: 20_000 }, texts)
    for (const locale of locales) {
      await mailer.send({ to: 'ann@demo.test', template: 'login-code', locale, values })
      const last = received.at(-1)
      const mail = await PostalMime.parse(last?.raw ?? '')
      expect(mail.subject).toBe(texts('login-code', locale).subject)
      expect(mail.from).toMatchObject({ name: 'Portico', address: 'no-reply@portico.test' })
      expect(mail.text).toContain('123456')
      expect(mail.html).toContain('<strong>123456</strong>')
      expect(mail.html).toMatch(new RegExp(`^<!doctype html><html lang="${locale}">.*</html>\\s*$`, 's'))
      expect(mail.headers).toContainEqual(expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }))
      expect(last?.to).toEqual(['ann@demo.test'])
    }
    await mailer.close()
  })

  test('send TypeError: the recipient must be one plain mailbox', async () => {
    const mailer = await openSmtpMailer({ url, from, timeoutMs: 20_000 }, texts)
    const before = received.length
    for (const to of [
      'a@b.test\r\nBcc: c@d.test',
      'a@b.test, c@d.test',
      'X <a@b.test>',
      'a@b.test>',
      '"a\r\n"@b.test',
      'a\u0000@b.test',
      'a,b@c.test',
      `${'a'.repeat(65)}@b.test`,
      `a@${'b'.repeat(254)}`,
      '',
    ])
      await expect(mailer.send({ to, template: 'login-code', locale: 'en', values })).rejects.toThrow(TypeError)
    expect(received).toHaveLength(before)
    await mailer.send({ to: `${'a'.repeat(64)}@${'b'.repeat(63)}.test`, template: 'login-code', locale: 'en', values })
    expect(received).toHaveLength(before + 1)
    await mailer.close()
    const outbox = createOutbox(texts, testClock(), 1)
    const send = outbox.send({ to: 'X <a@b.test>', template: 'login-code', locale: 'en', values })
    await expect(send).rejects.toThrow(TypeError)
    expect(outbox.list()).toEqual([])
  })

  test('from: with or without a name, trimmed', async () => {
    for (const [input, name, address] of [
      ['  Portico <no-reply@portico.test> ', 'Portico', 'no-reply@portico.test'],
      [' no-reply@portico.test ', '', 'no-reply@portico.test'],
    ] as const) {
      const mailer = await openSmtpMailer({ url, from: input, timeoutMs: 20_000 }, texts)
      await mailer.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values })
      expect((await PostalMime.parse(received.at(-1)?.raw ?? '')).from).toEqual({ name, address })
      await mailer.close()
    }
  })

  test('values are written as text: one line each, escaped in HTML', async () => {
    const mailer = await openSmtpMailer({ url, from, timeoutMs: 20_000 }, texts)
    const code = `<img src=x onerror="alert('1')">&\r\nBcc: thief@demo.test`
    await mailer.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values: { ...values, code } })
    const mail = await PostalMime.parse(received.at(-1)?.raw ?? '')
    expect(mail.html).not.toContain('<img')
    expect(mail.html).toContain('&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp; Bcc')
    expect(mail.bcc).toBeUndefined()
    expect(received.at(-1)?.to).toEqual(['ann@demo.test'])
    await mailer.close()
  })

  test('a value cannot start a new line, and a missing one is an error', async () => {
    const ownTexts: MailTexts = () => ({ subject: 'For {{code}}', text: '{{code}}', html: '{{code}}' })
    const outbox = createOutbox(ownTexts, testClock(), 1)
    const send = (input: typeof values) =>
      outbox.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values: input })
    await send({ ...values, code: 'a\r\nb\u2028c\u2029d\u0085e' })
    expect(outbox.list()).toMatchObject([
      { subject: 'For a b c d e', text: 'a b c d e', html: expect.stringMatching(/>\na b c d e</) },
    ])
    const other: MailTexts = () => ({ subject: '{{coda}}', text: '', html: '' })
    const incomplete = createOutbox(other, testClock(), 1)
    const sent = incomplete.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values })
    await expect(sent).rejects.toThrow('the mail has no value coda')
  })

  test('removes bidirectional controls from values', async () => {
    const outbox = createOutbox(texts, testClock(), 1)
    const hostile = 'a\u202ab\u202bc\u202cd\u202de\u202ef\u2066g\u2067h\u2068i\u2069'
    const invitation = {
      inviter: hostile,
      workspace: 'שלום\u200f!',
      role: hostile,
      message: hostile,
      days: '7',
      url: '',
    }
    await outbox.send({ ...invite, locale: 'en', values: invitation })
    const [mail] = outbox.list()
    for (const part of [mail?.text, mail?.html]) {
      expect(part).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
      expect(part).toContain('abcdefghi')
      expect(part).toContain('שלום\u200f!')
    }
  })

  test.each([
    ['visit https://evil.example/login now', 'visit https[:]//evil[.]example/login now'],
    ['HTTP://192.0.2.1/x', 'HTTP[:]//192.0.2.1/x'],
    ['www.evil', 'www[.]evil'],
    ['evil.com', 'evil[.]com'],
    ['sub.evil.co.uk/path?q', 'sub[.]evil[.]co[.]uk/path?q'],
    ['пример.рф and xn--e1afmkfd.xn--p1ai', 'пример[.]рф and xn--e1afmkfd[.]xn--p1ai'],
    ['evil\uff0ecom evil\u3002com', 'evil[.]com evil[.]com'],
    ['mailto:ann@evil.com', 'mailto[:]ann@evil[.]com'],
    ['tel:+4930123456', 'tel[:]+4930123456'],
    ['javascript:alert(1)', 'javascript[:]alert(1)'],
    ['\\\\server\\share', '\\server\\share'],
    ['evil.\r\ncom', 'evil. com'],
    ['evil.\u202ecom', 'evil[.]com'],
    ['Dr. Ann B. Cole, Acme Inc., 1.5 % of 203.0.113.7', 'Dr. Ann B. Cole, Acme Inc., 1.5 % of 203.0.113.7'],
    ['你好。欢迎', '你好。欢迎'],
    ['Note: read this', 'Note: read this'],
  ])('a value is not a link: %j', async (value, shown) => {
    const outbox = createOutbox(texts, testClock(), 1)
    const link = 'https://portal.example/sign-in'
    const names = { inviter: value, workspace: value, role: value, message: value }
    const mail = { ...invite, locale: 'en' } as const
    await outbox.send({ ...mail, values: { ...names, days: '7', url: link } })
    const text = outbox.list()[0]?.text
    expect(text).toContain(
      `${shown} has invited you to the workspace "${shown}", with the role "${shown}".\n${shown}\n`,
    )
    expect(text).toContain(link)
  })

  test('notices that wait for a slow server do not delay sign-in codes', async () => {
    const sockets: Socket[] = []
    let isSlow = true
    const slow = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      if (!isSlow) socket.pipe(connect(Number(new URL(url).port), '127.0.0.1')).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(slow, 'listening')
    const mailer = await openSmtpMailer({ url: `smtp://127.0.0.1:${portOf(slow)}`, from, timeoutMs: 5_000 }, texts)
    const notices = Array.from({ length: 30 }, () =>
      mailer.send({ to: 'ann@demo.test', template: 'account-exists', locale: 'en', values: { url: '' } }),
    )
    const ended = Promise.allSettled(notices)
    await expect.poll(() => sockets.length).toBe(5)
    isSlow = false
    for (const template of ['login-code', 'step-up-code'] as const)
      await mailer.send({ to: `${template}@demo.test`, template, locale: 'en', values })
    expect(received.slice(-2).map(({ to }) => to)).toEqual([['login-code@demo.test'], ['step-up-code@demo.test']])
    for (const socket of sockets) socket.destroy()
    await mailer.close()
    await ended
    slow.close()
  })

  test('requireTLS: sends nothing to a server without TLS', async () => {
    const mailer = await openSmtpMailer({ url: `${url}?requireTLS=true`, from, timeoutMs: 20_000 }, texts)
    const before = received.length
    const sent = mailer.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values })
    await expect(sent).rejects.toMatchObject({ code: 'SYSTEM.UNAVAILABLE' })
    expect(received).toHaveLength(before)
    await mailer.close()
  })

  test('send SYSTEM.UNAVAILABLE: within the timeout, if the server is down or silent', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const port = portOf(silent)
    for (const each of [`smtp://127.0.0.1:${port}`, 'smtp://127.0.0.1:1']) {
      const mailer = await openSmtpMailer({ url: each, from, timeoutMs: 300 }, texts)
      const started = performance.now()
      const sent = mailer.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values })
      const refusal: unknown = await sent.catch((error) => error)
      if (!(refusal instanceof Refusal)) throw new Error('not refused')
      expect([refusal.code, refusal.detail.retryAfter]).toEqual(['SYSTEM.UNAVAILABLE', 30])
      expect(refusal.cause).toBeInstanceOf(Error)
      expect(performance.now() - started).toBeLessThan(10_000)
      await mailer.close()
    }
    silent.close()
  })

  test('send SYSTEM.UNAVAILABLE: within the timeout for queued mails and a dripping server', async () => {
    const sockets: Socket[] = []
    const dripping = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      const timer = setInterval(() => socket.write('220-still\r\n'), 50)
      socket.on('close', () => clearInterval(timer))
    }).listen(0, '127.0.0.1')
    await once(dripping, 'listening')
    const url = `smtp://127.0.0.1:${portOf(dripping)}`
    const mailer = await openSmtpMailer({ url, from, timeoutMs: 5_000 }, texts)
    const started = performance.now()
    const send = () => mailer.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values })
    const mails = Array.from({ length: 20 }, send)
    await expect.poll(() => sockets.length).toBe(5)
    // Only five connections are open at a time.
    await expect(Promise.race(mails)).rejects.toMatchObject({ code: 'SYSTEM.UNAVAILABLE' })
    expect(sockets).toHaveLength(5)
    const ends = await Promise.allSettled(mails)
    for (const end of ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'SYSTEM.UNAVAILABLE' } })
    // Four rounds would take longer if the deadline did not include the queue.
    expect(performance.now() - started).toBeLessThan(15_000)
    await mailer.close()
    for (const socket of sockets) socket.destroy()
    dripping.close()
  })

  test('a timed out delivery closes its connection, so that the next mail is sent', async () => {
    let isDripping = true
    const sockets: Socket[] = []
    const moody = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      if (!isDripping) return void socket.pipe(connect(Number(new URL(url).port), '127.0.0.1')).pipe(socket)
      socket.resume().write('220 here\r\n')
      const timer = setInterval(() => socket.write('250-still\r\n'), 50)
      socket.on('close', () => clearInterval(timer))
    }).listen(0, '127.0.0.1')
    await once(moody, 'listening')
    const mailer = await openSmtpMailer({ url: `smtp://127.0.0.1:${portOf(moody)}`, from, timeoutMs: 500 }, texts)
    const send = (to: string) => mailer.send({ to, template: 'login-code', locale: 'en', values })
    const ends = await Promise.allSettled(Array.from({ length: 8 }, () => send('ann@demo.test')))
    for (const end of ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'SYSTEM.UNAVAILABLE' } })
    expect(sockets).not.toHaveLength(0)
    await expect.poll(() => sockets.every((socket) => socket.destroyed)).toBe(true)
    isDripping = false
    // On a slow machine, a mail can time out as well.
    await expect.poll(() => send('next@demo.test').catch(() => 'late')).not.toBe('late')
    expect(received.at(-1)?.to).toEqual(['next@demo.test'])
    await mailer.close()
    moody.close()
  })

  test('a refused mail: the error has the SMTP codes, not the server’s text', async () => {
    const quoting = (detail: string) => Object.assign(new Error(`5.7.1 ${detail} is listed`), { responseCode: 554 })
    const refusing = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onRcptTo: ({ address }, _session, done) => done(address.startsWith('gone') ? quoting(address) : null),
      onData: (stream, _session, done) => {
        let mail = ''
        stream.on('data', (chunk: Buffer) => {
          mail += chunk.toString()
        })
        stream.on('end', () => done(quoting(/\b\d{6}\b/.exec(mail)?.[0] ?? '')))
      },
    })
    const listening = refusing.listen(0, '127.0.0.1')
    await once(listening, 'listening')
    const mailer = await openSmtpMailer(
      { url: `smtp://127.0.0.1:${portOf(listening)}`, from, timeoutMs: 20_000 },
      texts,
    )
    for (const [to, failure] of [
      ['gone@demo.test', 'EENVELOPE 554 to RCPT TO'],
      ['ann@demo.test', 'EMESSAGE 554 to DATA'],
    ] as const) {
      const error: unknown = await mailer
        .send({ to, template: 'login-code', locale: 'en', values })
        .catch((each) => each)
      expect(error).toMatchObject({ code: 'SYSTEM.UNAVAILABLE', cause: undefined })
      expect(error).toMatchObject({ detail: { internal: `the mail server did not accept the mail: ${failure}` } })
    }
    await mailer.close()
    await new Promise<void>((resolve) => refusing.close(() => resolve()))
  })
})

describe('the development outbox', () => {
  test('lists the newest mails first, up to its limit', async () => {
    const outbox = createOutbox(texts, testClock(), 3)
    for (const code of ['1', '2', '3', '4'])
      await outbox.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values: { ...values, code } })
    expect(outbox.list().map((mail) => /is (\d)/.exec(mail.text)?.[1])).toEqual(['4', '3', '2'])
  })

  test('the page shows mails as escaped text under a strict policy', async () => {
    const outbox = createOutbox(texts, testClock(), 3)
    const { html, json, policy } = outboxPage(outbox)
    expect([await html(), await json()]).toEqual([expect.stringContaining('<p>No mail yet.</p>'), []])
    const url = 'https://portal.example.com/?a=1&b=2'
    const invitation = { inviter: `<i>"'`, workspace: 'W', role: 'R', message: '', days: '7', url }
    await outbox.send({ to: 'first@demo.test', template: 'login-code', locale: 'en', values })
    await outbox.send({ ...invite, locale: 'ja', values: invitation })
    const page = await html()
    expect(page.match(/to [a-z]+@demo\.test/g)).toEqual(['to ann@demo.test', 'to first@demo.test'])
    expect(page).toContain('&lt;i&gt;&quot;&#39;')
    expect(page).toContain('https://portal.example.com/?a=1&amp;b=2')
    expect(page).not.toMatch(/<i>|No mail yet/)
    const style = /<style>(.*)<\/style>/.exec(page)?.[1] ?? ''
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
      "frame-ancestors 'none'",
    ])
    const at = new Date(testClock().now()).toISOString()
    expect(await json()).toMatchObject([
      { to: 'ann@demo.test', at },
      { to: 'first@demo.test', at },
    ])
  })
})

describe('mail texts', () => {
  test('exist for every mail in every language', async () => {
    for (const template of mailNames) for (const locale of locales) expect(texts(template, locale).subject).not.toBe('')
  })

  test('have no number followed by a noun: one minute has no plural', () => {
    const counted = mailNames.flatMap((template) => {
      const { text, html } = texts(template, 'en')
      return `${text}${html}`.match(/\}\} ?(minute|hour|day)s?\b/g) ?? []
    })
    expect(counted).toEqual([])
  })

  test('readMailTexts: rejects with every missing file, unknown value and invalid text', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'portico-mail-'))
    await cp('assets/mails', directory, { recursive: true })
    await writeFile(join(directory, 'login-code/vi.yaml'), 'subject: a\ntext: "{{code}} {{name}}"\nhtml: "{{code}}"\n')
    await writeFile(join(directory, 'new-device/zh.yaml'), 'subject: ""\ntext: [no, text]\n')
    await writeFile(join(directory, 'step-up-code/ja.yaml'), 'subject: "unclosed\n')
    await rm(join(directory, 'password-reset/en.yaml'))
    const { errors } = await readMailTexts(directory).catch((error) => error)
    const faults = errors.map(({ message }: DeclarationError) => message)
    for (const fault of [
      /login-code.vi\.yaml: text: the mail has no value name; remove it or add it to `templates`$/,
      /login-code.vi\.yaml: text: \{\{minutes\}\} is missing; add it$/,
      /login-code.vi\.yaml: html: \{\{minutes\}\} is missing; add it$/,
      /new-device.zh\.yaml: subject: /,
      /new-device.zh\.yaml: text: /,
      /new-device.zh\.yaml: html: /,
      /step-up-code.ja\.yaml: YAMLException: /,
      /password-reset.en\.yaml: Error: ENOENT/,
    ])
      expect(faults).toContainEqual(expect.stringMatching(fault))
    expect(faults).toHaveLength(9)
    await rm(directory, { recursive: true })
  })
})
