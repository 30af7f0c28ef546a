import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'

export interface TestMailServer {
  url: string
  received: Email[]
  /** Of the envelopes, as the client wrote them. */
  recipients: string[]
  close(): Promise<void>
}

/** Accepts every mail. */
export async function startMailServer(): Promise<TestMailServer> {
  const received: Email[] = []
  const recipients: string[] = []
  const server = new SMTPServer({
    authOptional: true,
    // The strict mode rejects quoted addresses.
    lenientAddressParsing: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) => {
      recipients.push(address)
      done()
    },
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        void PostalMime.parse(Buffer.concat(chunks)).then((mail) => {
          received.push(mail)
          done()
        }, done)
      })
    },
  })
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    recipients,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
