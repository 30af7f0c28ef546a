import { type Delivery, listAllDeliveries, resendPlatformDelivery } from 'portal-client'
import { useSearchParams } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatCount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Time } from '../../kit/time.tsx'
import { Command, useMissing } from '../records/command.tsx'
import { Filters, oneOf } from '../records/filters.tsx'
import { deliveryStatuses, WebhookBadge } from './status.tsx'

/** The deliveries of a webhook. Operators send only those of the deployment again. */
export function Deliveries({ webhookId, canResend }: { webhookId: string; canResend: boolean }) {
  const [search] = useSearchParams()
  const deliveryStatus = oneOf(deliveryStatuses, search.get('delivery'))
  return (
    <>
      <Filters label={t('webhooks.deliveryFilters')} filters={filters} />
      <ListQuery
        queryKey={['deliveries', webhookId, deliveryStatus]}
        read={(before) =>
          client.call(listAllDeliveries, { params: { webhook_id: webhookId }, query: { deliveryStatus, before } })
        }
        empty={t('webhooks.noDeliveries')}
        isChanging={() => true}
      >
        {(deliveries) => (
          <Table
            label={t('webhooks.deliveries')}
            items={deliveries}
            keyOf={({ bizId }) => bizId}
            columns={[
              { title: t('webhooks.eventType'), cell: ({ eventType }) => eventType },
              { title: t('webhooks.status'), cell: ({ deliveryStatus: status }) => <WebhookBadge status={status} /> },
              { title: t('webhooks.response'), cell: responseOf },
              { title: t('webhooks.attempts'), align: 'end', cell: ({ attempts }) => formatCount(attempts) },
              {
                title: t('webhooks.lastAttempt'),
                cell: ({ lastAttemptAt }) => <Time at={lastAttemptAt} none={t('records.never')} />,
              },
              ...(canResend
                ? [
                    {
                      title: t('records.actions'),
                      align: 'end' as const,
                      cell: (delivery: Delivery) => <Resend delivery={delivery} />,
                    },
                  ]
                : []),
            ]}
          />
        )}
      </ListQuery>
    </>
  )
}

function Resend({ delivery: { bizId, eventType, deliveryStatus } }: { delivery: Delivery }) {
  const blocked = useMissing('webhook:manage')
  if (deliveryStatus.code === 'PENDING') return t('webhooks.underway')
  return (
    <Command
      label={t('webhooks.resend')}
      question={t('webhooks.resendQuestion', { type: eventType })}
      run={() => client.call(resendPlatformDelivery, { body: { deliveryBizId: bizId } })}
      done={t('webhooks.resent')}
      blocked={blocked}
    />
  )
}

function responseOf({ responseStatus, failure, durationMs }: Delivery): string {
  const outcome = responseStatus === null ? failure : String(responseStatus)
  if (outcome === null) return t('records.nobody')
  return durationMs === null ? outcome : `${outcome} · ${formatCount(durationMs)} ms`
}

const filters = [
  {
    name: 'delivery',
    label: t('webhooks.status'),
    options: deliveryStatuses.map((value) => ({ value, label: t(`webhooks.delivery_${value}`) })),
  },
]
