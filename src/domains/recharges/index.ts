import type { HandlerTable, Words } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { expire, expiryJob } from './expiry.ts'
import { rechargeHandlers } from './handlers.ts'
import { type ChannelTerms, channelsOf } from './rules.ts'
import type { RechargesPorts } from './service.ts'

export type RechargesOptions = Omit<RechargesPorts, 'channels' | 'lifeMs'> & {
  words: Words
  settings: { lifeMs: number; channels: readonly ChannelTerms[] }
  /** How often what was not paid in time is ended. */
  expiryMs: number
}

export interface Recharges {
  handlers: HandlerTable
  jobs: JobKind[]
}

/** Money that comes in from outside: announced by a workspace, proved, and credited once an operator has seen it. */
export const createRecharges = ({ words, settings, expiryMs, ...outside }: RechargesOptions): Recharges => {
  const ports = { ...outside, channels: channelsOf(settings.channels), lifeMs: settings.lifeMs }
  return {
    handlers: rechargeHandlers(ports, words),
    jobs: [{ name: expiryJob, attempts: 1, everyMs: expiryMs, work: (_, facts) => expire(ports, facts) }],
  }
}
