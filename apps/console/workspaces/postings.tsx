import { useQuery } from '@tanstack/react-query'
import { listOrderPostings, type OrderPosting } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { formatAmount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { useParameter } from '../../kit/pages.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Empty, QueryView } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'

/** The ledger postings of an order, as debits and credits. */
export default function Postings() {
  const orderId = useParameter('orderId')
  const canAudit = usePermission('audit:read')
  const query = useQuery({
    queryKey: ['postings', orderId],
    queryFn: () => client.call(listOrderPostings, { params: { order_id: orderId } }),
  })
  return (
    <Page title={t('workspaces.postings')}>
      <Facts
        facts={[
          [t('workspaces.order'), <code key="order">{orderId}</code>],
          [t('workspaces.orderKind'), query.data?.[0]?.orderType ?? t('records.nobody')],
        ]}
      />
      <QueryView query={query}>
        {(postings) =>
          postings.length === 0 ? (
            <Empty title={t('workspaces.noPostings')} />
          ) : (
            <Table label={t('workspaces.postings')} items={postings} keyOf={({ bizId }) => bizId} columns={columns} />
          )
        }
      </QueryView>
      {canAudit && <Link href={`/audit?targetId=${orderId}`}>{t('records.auditEntries')}</Link>}
    </Page>
  )
}

const columns = [
  { title: t('workspaces.ledgerAccount'), cell: ({ ledgerAccount }: OrderPosting) => <code>{ledgerAccount}</code> },
  {
    title: t('workspaces.wallet'),
    cell: ({ walletBizId }: OrderPosting) => (walletBizId === null ? t('records.nobody') : <code>{walletBizId}</code>),
  },
  { title: t('records.created'), cell: ({ createdAt }: OrderPosting) => <Time at={createdAt} /> },
  { title: t('workspaces.currency'), cell: ({ currency }: OrderPosting) => currency },
  {
    title: t('workspaces.debit'),
    align: 'end',
    cell: ({ amount }: OrderPosting) => (amount.startsWith('-') ? formatAmount(amount.slice(1)) : ''),
  },
  {
    title: t('workspaces.credit'),
    align: 'end',
    cell: ({ amount }: OrderPosting) => (amount.startsWith('-') ? '' : formatAmount(amount)),
  },
] as const
