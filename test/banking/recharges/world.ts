import { tmpdir } from 'node:os'
import type { OwnerNotice } from '../../../src/api/notices.ts'
import { createRecharges } from '../../../src/banking/recharges/index.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { openBlobs } from '../../../src/platform/blobs/index.ts'
import { testDatabase } from '../../identity/database.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { createTestBank } from '../../ledger/test-bank.ts'
import { transactionOf, words } from '../world.ts'

export const lifeMs = 60_000

const pdfFile = { key: 'x', fileName: 'x', contentType: 'application/pdf', sizeBytes: 1 }

const tokenChannel = {
  channelCode: 'TOKEN',
  channelName: 'Token',
  channelType: 'CRYPTO' as const,
  proofRequired: false,
  enabled: true,
  currency: 'USD',
  minAmount: '1',
  maxAmount: '100',
  fixedFee: '0',
  feeRate: '0',
}

/** Recharges of one wallet in USD, on the embedded store. */
export async function openRecharges({
  referenceRequired = true,
  channels = [],
}: {
  referenceRequired?: boolean
  channels?: readonly (Partial<typeof tokenChannel> & { dailyMax?: string })[]
} = {}) {
  const { database, close } = await testDatabase()
  const bank = await createTestBank(database)
  const { ledger, clock } = bank
  await ledger.registerTypes()
  const notices: OwnerNotice[] = []
  const { handlers, jobs } = createRecharges({
    ledger,
    clock,
    words,
    settings: {
      lifeMs,
      referenceRequired,
      channels: [tokenChannel, ...channels.map((changed) => ({ ...tokenChannel, ...changed }))],
    },
    database,
    transaction: transactionOf(database),
    once: (_, work) => inTransaction(database, work),
    notices: {
      queue: async (_, notice) => {
        notices.push(notice)
      },
    },
    blobs: await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, tmpdir()),
    fileOf: async (_, file) => ({ ...pdfFile, sha256: file }),
    keepAsProof: async (_tx, _, file) => ({ ...pdfFile, sha256: file }),
    isProof: () => true,
  })
  const wallet = await bank.wallet('USD')
  return {
    ...bank,
    database,
    openWallet: bank.wallet,
    wallet,
    jobs,
    notices,
    close,
    call: handlerCaller([handlers], clock),
  }
}
