import { z } from 'zod'
import { bizId, toInstant } from '../../kernel/index.ts'
import { withdrawalChannelStatus } from './contract.ts'
import type { Channel } from './store.ts'

const idOf = <Kind extends string>() => z.string().transform((text) => bizId<Kind>(text))
const instant = z.number().transform(toInstant)

const remembered: z.ZodType<Channel> = z.object({
  bizId: idOf<'withdrawalChannel'>(),
  workspaceBizId: idOf<'workspace'>(),
  channelType: z.enum(['BANK', 'CRYPTO']),
  currency: z.string(),
  country: z.string(),
  accountHolderName: z.string(),
  maskedAccount: z.string(),
  bankCode: z.string().nullable(),
  network: z.string().nullable(),
  channelStatus: z.enum(withdrawalChannelStatus.codes),
  rejectReason: z.string().nullable(),
  createdBy: idOf<'account'>(),
  createdAt: instant,
  updatedAt: instant,
})

/** The channel as it was when the request was answered. */
export const rememberedChannel = (answer: unknown): Channel => remembered.parse(answer)
