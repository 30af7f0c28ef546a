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
const texts = await readMailTexts('config/mail')
afterEach(() => setDefaultCACertificates(trusted))
afterAll(() => rmSync(folder, { recursive: true }))

/** Mails by a URL with a password in it; answers what a server with a certificate of its own got to hear, and in which way. */
const heardBy = async (protocol: 'smtp' | 'smtps'): Promise<string[]> => {
  const heard: string[] = []
  const server = new SMTPServer({
    ...{ secure: protocol === 'smtps', key, cert },
    onAuth: ({ password }, { secure }, done) => {
      heard.push(`${password}, ${secure ? 'sealed' : 'in the clear'}`)
      done(null, { user: 'portico' })
    },
    onData: (stream, _session, done) => {
      heard.push('a mail')
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
  return heard
}

test.each(['smtp', 'smtps'] as const)(
  '%s: a server that offers TLS hears the password and the mail where its certificate is trusted, and nothing where it is not',
  async (protocol) => {
    expect(await heardBy(protocol)).toEqual([])
    setDefaultCACertificates([...trusted, String(cert)])
    expect(await heardBy(protocol)).toEqual(['planted-password, sealed', 'a mail'])
  },
)
