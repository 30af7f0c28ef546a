import { type KeyedColumns, type KeyedRow, textOf } from '../../platform/key-rotation/index.ts'
import { accountParts, isChannelType } from './rules.ts'

const optionalText = (row: KeyedRow, column: string): string | null =>
  row[column] === null ? null : textOf(row, column)

export const keyedColumns: KeyedColumns = {
  sealed: [
    {
      label: 'payout accounts',
      table: 'withdrawal_channels',
      column: 'account_sealed',
      key: ['workspace_biz_id', 'biz_id'],
      reads: ['channel_type', 'currency', 'bank_code', 'network'],
      purpose: 'withdrawal-account',
      contextOf: (row) => textOf(row, 'biz_id'),
      digest: {
        column: 'account_digest',
        of: (digest, row, plaintext) => {
          const channelType = textOf(row, 'channel_type')
          if (!isChannelType(channelType)) throw new TypeError(`${channelType} is not a channel type`)
          const parts = accountParts({
            channelType,
            currency: textOf(row, 'currency'),
            bankCode: optionalText(row, 'bank_code'),
            network: optionalText(row, 'network'),
            accountNumber: Buffer.from(plaintext).toString('utf8'),
          })
          return digest('withdrawal-account', ...parts)
        },
      },
    },
  ],
  digests: [],
}
