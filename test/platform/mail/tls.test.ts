import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { SMTPServer } from 'smtp-server'
import { afterAll, afterEach, expect, test } from 'vitest'
import { openSmtpMailer, readMailTexts } from '../../../src/platform/mail/index.ts'
import { selfSigned } from '../../harness/certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-mail-tls-'))
const { key, cert } = selfSigned(folder, 'IP:127.0.0.1')
const trusted = getCACertificates('default')
const texts = await readMailTexts('assets/mails')
afterEach(() => setDefaultCACertificates(trusted))
afterAll(() => rmSync(folder, { recursive: true }))

/** The URL contains a password. */
async function receivedBy(protocol: 'smtp' | 'smtps'): Promise<string[]> {
  const received: string[] = []
  const server = new SMTPServer({
    ...{ secure: protocol === 'smtps', key, cert },
    onAuth: ({ password }, { secure }, done) => {
      received.push(`${password}, ${secure ? 'sealed' : 'in the clear'}`)
      done(null, { user: 'portico' })
    },
    onData: (stream, _session, done) => {
      received.push('a mail')
      stream.on('end', () => done()).resume()
    },
  })
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const address = listening.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const url = `${protocol}://portico:planted-password@127.0.0.1:${port}`
  const mailer = await openSmtpMailer({ url, from: 'no-reply@portico.test', timeoutMs: 20_000 }, texts)
  const values = { code: '123456', minutes: '10' }
  await mailer.send({ to: 'ann@demo.test', template: 'login-code', locale: 'en', values }).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'SYSTEM.UNAVAILABLE' })
  })
  await mailer.close()
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return received
}

test.each(['smtp', 'smtps'] as const)(
  '%s: sends the password and the mail only if the certificate is trusted',
  async (protocol) => {
    expect(await receivedBy(protocol)).toEqual([])
    setDefaultCACertificates([...trusted, String(cert)])
    expect(await receivedBy(protocol)).toEqual(['planted-password, sealed', 'a mail'])
  },
)
