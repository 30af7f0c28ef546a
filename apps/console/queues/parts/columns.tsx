import { formatMoney } from '../../../kit/format.ts'
import { t } from '../../../kit/i18n.ts'
import { Age } from '../../../kit/time.tsx'
import { MarkedWorkspace, type OfWorkspace } from './records.tsx'

/*
 * Columns that several queues have.
 */

export const ageColumn = {
  title: t('queues.age'),
  cell: ({ createdAt }: { createdAt: string }) => <Age at={createdAt} />,
}

export const workspaceColumn = {
  title: t('queues.workspace'),
  cell: (record: OfWorkspace) => <MarkedWorkspace record={record} />,
}

export const amountColumn = {
  title: t('queues.amount'),
  align: 'end',
  cell: ({ amount, currency }: { amount: string; currency: string }) => formatMoney(amount, currency),
} as const
