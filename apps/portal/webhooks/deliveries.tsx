import { type Delivery, listDeliveries, resendDelivery } from 'portal-client'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { ChoiceFilter, Filters, useChoice } from '../../kit/filters.tsx'
import { formatCount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Time } from '../../kit/time.tsx'
import { useWorkspace } from '../workspace.tsx'
import { DeliveryStatus } from './parts.tsx'

const statuses = ['PENDING', 'DELIVERED', 'FAILED', 'WITHHELD'] as const

/** The delivery log of a webhook. `status` in the address filters it. */
export function Deliveries({ webhookId }: { webhookId: string }) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const deliveryStatus = useChoice('status', statuses)
  return (
    <>
      <Filters>
        <ChoiceFilter
          name="status"
          label={t('webhooks.status')}
          options={[
            { value: '', label: t('webhooks.allStatuses') },
            ...statuses.map((value) => ({ value, label: t(`webhooks.delivery_${value}`) })),
          ]}
        />
      </Filters>
      <ListQuery
        queryKey={['deliveries', workspaceId, webhookId, deliveryStatus]}
        read={(before) =>
          client.call(listDeliveries, {
            workspaceId,
            params: { webhook_id: webhookId },
            query: { before, deliveryStatus },
          })
        }
        empty={t('webhooks.noDeliveries')}
        isChanging={() => true}
      >
        {(deliveries) => <Log deliveries={deliveries} />}
      </ListQuery>
    </>
  )
}

function Log({ deliveries }: { deliveries: readonly Delivery[] }) {
  const mayManage = usePermission('webhook:manage')
  return (
    <Table
      label={t('webhooks.deliveries')}
      items={deliveries}
      keyOf={({ bizId }) => bizId}
      columns={[
        {
          title: t('webhooks.event'),
          cell: ({ eventType, createdAt }) => (
            <div className="webhooks-url">
              <code>{eventType}</code>
              <span className="hint">
                <Time at={createdAt} />
              </span>
            </div>
          ),
        },
        { title: t('webhooks.status'), cell: ({ deliveryStatus }) => <DeliveryStatus status={deliveryStatus} /> },
        { title: t('webhooks.response'), cell: (delivery) => <Reply delivery={delivery} /> },
        { title: t('webhooks.attempts'), align: 'end', cell: ({ attempts }) => formatCount(attempts) },
        {
          title: t('webhooks.nextAttempt'),
          cell: ({ nextAttemptAt }) => <Time at={nextAttemptAt} />,
        },
        ...(mayManage
          ? [{ title: t('webhooks.actions'), cell: (delivery: Delivery) => <Resend delivery={delivery} /> }]
          : []),
      ]}
    />
  )
}

function Reply({ delivery: { responseStatus, responseBody, failure, durationMs } }: { delivery: Delivery }) {
  if (responseStatus === null && failure === null) return '–'
  return (
    <div className="webhooks-url">
      <span>
        <code>{responseStatus ?? failure}</code>
        {durationMs !== null && <span className="hint"> {formatCount(durationMs)} ms</span>}
      </span>
      {responseBody !== null && responseBody !== '' && (
        <details>
          <summary>{t('webhooks.body')}</summary>
          <pre className="webhooks-body">{responseBody}</pre>
        </details>
      )}
    </div>
  )
}

function Resend({ delivery: { bizId: deliveryBizId, eventType, deliveryStatus } }: { delivery: Delivery }) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  if (deliveryStatus.code === 'PENDING') return <span className="hint">{t('webhooks.isPending')}</span>
  return (
    <Command
      label={t('webhooks.resend')}
      subject={eventType}
      title={t('webhooks.resendTitle')}
      done={t('webhooks.resent')}
      run={() => client.call(resendDelivery, { workspaceId, body: { deliveryBizId } })}
    >
      <p>{t('webhooks.resendEffect')}</p>
    </Command>
  )
}
