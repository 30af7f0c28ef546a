import type { AddressInfo } from 'node:net'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { codeIn } from '../../harness/sign-in.ts'

export interface Mailbox {
  /** For the setting SMTP_URL. */
  url: string
  /** Resolves with the next code for an address, even if it has arrived already. */
  code(address: string): Promise<string>
  stop(): Promise<void>
}

/** Keeps only the mailed codes. */
export async function openMailbox(): Promise<Mailbox> {
  const codes = new Map<string, string>()
  const waiting = new Map<string, (code: string) => void>()
  const deliver = (address: string, code: string): void => {
    const taker = waiting.get(address)
    waiting.delete(address)
    if (taker) taker(code)
    else codes.set(address, code)
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onData: (stream, { envelope: { rcptTo } }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        done()
        const { text = '', subject = '' } = await PostalMime.parse(Buffer.concat(chunks))
        const address = rcptTo[0]?.address ?? ''
        if (/\b\d{6}\b/.test(text)) deliver(address, codeIn(text))
        else if (/code/i.test(subject)) throw new Error(`no code in the mail to ${address}`)
      })
    },
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    code: (address) => {
      const found = codes.get(address)
      codes.delete(address)
      if (found !== undefined) return Promise.resolve(found)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no code for ${address}`)), 30_000)
        waiting.set(address, (code) => {
          clearTimeout(timer)
          resolve(code)
        })
      })
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
