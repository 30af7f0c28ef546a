import { useQuery } from '@tanstack/react-query'
import { type AllWithdrawalChannel, type AuditLog, listAllWithdrawalChannels, listAuditLog } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { t } from '../../../kit/i18n.ts'
import { Table } from '../../../kit/list.tsx'
import { Section } from '../../../kit/page.tsx'
import { usePermission } from '../../../kit/session.tsx'
import { Empty, QueryView } from '../../../kit/states.tsx'
import { Time } from '../../../kit/time.tsx'
import { Person } from './people.tsx'
import { StatusBadge } from './records.tsx'

/** The newest entries of the audit log about a record. Does not load without `audit:read`. */
export function useTrail(targetId: string) {
  const mayRead = usePermission('audit:read')
  return useQuery({
    queryKey: ['trail', targetId],
    queryFn: () => client.call(listAuditLog, { query: { targetId, pageSize: 50 } }),
    enabled: mayRead,
  })
}

/** The account of the first successful entry with this action. Null if it is not known. */
export function creatorIn(log: { items: readonly AuditLog[] } | undefined, action: string): string | null {
  return log?.items.find((entry) => entry.action === action && entry.outcome.code === 'SUCCESS')?.actorBizId ?? null
}

/** Who acted on a record that has no history in its reply. */
export function Trail({ targetId }: { targetId: string }) {
  const mayRead = usePermission('audit:read')
  const query = useTrail(targetId)
  if (!mayRead) return null
  return (
    <Section title={t('queues.trail')}>
      <QueryView query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title={t('queues.noTrail')} />
          ) : (
            <Table
              label={t('queues.trail')}
              items={items}
              keyOf={({ bizId }) => bizId}
              columns={[
                { title: t('queues.action'), cell: ({ action }) => <code>{action}</code> },
                { title: t('queues.time'), cell: ({ at }) => <Time at={at} /> },
                { title: t('queues.actor'), cell: ({ actorBizId }) => <Person id={actorBizId} /> },
                {
                  title: t('queues.reason'),
                  cell: ({ detail: { reason } }) => (typeof reason === 'string' ? reason : '–'),
                },
                {
                  title: t('queues.outcome'),
                  cell: ({ outcome, requestId }) => (
                    <Link href={`/audit?requestId=${encodeURIComponent(requestId)}`}>
                      <StatusBadge status={outcome} />
                    </Link>
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
    </Section>
  )
}

/** Undefined while it loads, and for operators who may not read payout accounts. */
export function usePayoutAccount(id: string): AllWithdrawalChannel | undefined {
  const mayRead = usePermission('withdrawal-channel:read')
  const { data } = useQuery({
    queryKey: ['payout-account', id],
    queryFn: () => findPayoutAccount(id),
    enabled: mayRead,
  })
  return data ?? undefined
}

export async function findPayoutAccount(withdrawalChannelId: string): Promise<AllWithdrawalChannel | null> {
  return (await client.call(listAllWithdrawalChannels, { query: { withdrawalChannelId } })).items[0] ?? null
}
