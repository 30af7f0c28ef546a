import { useQuery } from '@tanstack/react-query'
import {
  type AllWithdrawalChannel,
  type AuditLog,
  iterate,
  listAllWithdrawalChannels,
  listAuditLog,
  type SystemMethods,
} from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { t } from '../../../kit/i18n.ts'
import { Table } from '../../../kit/list.tsx'
import { Section } from '../../../kit/page.tsx'
import { usePermission } from '../../../kit/session.tsx'
import { Empty, QueryView } from '../../../kit/states.tsx'
import { Time } from '../../../kit/time.tsx'
import { findIn } from './item-page.tsx'
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
export function usePayoutAccount(id: string, workspaceId: string): AllWithdrawalChannel | undefined {
  const mayRead = usePermission('withdrawal-channel:read')
  const { data } = useQuery({
    queryKey: ['payout-account', id],
    queryFn: () => findPayoutAccount(id, workspaceId),
    enabled: mayRead,
  })
  return data ?? undefined
}

/** A workspace has few accounts. Without one, the newest 1,000 are searched. */
export function findPayoutAccount(id: string, workspaceId: string | null): Promise<AllWithdrawalChannel | null> {
  const list = (args?: Parameters<SystemMethods['listAllWithdrawalChannels']>[0]) =>
    client.call(listAllWithdrawalChannels, args)
  const query = { pageSize: 100, ...(workspaceId !== null && { workspaceId }) }
  return findIn(iterate(list, { query }), ({ bizId }) => bizId === id)
}
