import { Refusal } from '../../kernel/index.ts'
import type { BackgroundWork } from '../background-work.ts'
import type { Mailer } from './mailer.ts'

/** Does not wait for the mail server. Throws SYSTEM.UNAVAILABLE if it accepts no more mails. */
export type MailQueue = Pick<Mailer, 'send'>

const retryAfter = 30

/** A response that waits for the mail server would be as slow as the server, and keep its client and memory busy. */
export function createMailQueue(mailer: MailQueue, background: Pick<BackgroundWork, 'run'>): MailQueue {
  return {
    send: async (mail) => {
      if (!background.run(`mail-${mail.template}`, () => mailer.send(mail)))
        throw new Refusal('SYSTEM.UNAVAILABLE', { internal: 'the mail queue is full or closed', retryAfter })
    },
  }
}
