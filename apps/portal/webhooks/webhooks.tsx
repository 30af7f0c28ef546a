import { listWebhooks } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { EventTypes, WebhookStatus } from './parts.tsx'

/** The webhooks of the workspace. */
export default function Webhooks() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  return (
    <Page title={t('webhooks.title')} actions={<NewWebhook />}>
      <Lacking permission="webhook:manage" />
      <ListQuery
        queryKey={['webhooks', workspaceId]}
        read={(before) => client.call(listWebhooks, { workspaceId, query: { before } })}
        empty={t('webhooks.empty')}
      >
        {(webhooks) => (
          <Table
            label={t('webhooks.title')}
            items={webhooks}
            keyOf={({ bizId }) => bizId}
            columns={[
              {
                title: t('webhooks.url'),
                cell: ({ bizId, url, description }) => (
                  <div className="webhooks-url">
                    <Link href={`/webhooks/${bizId}`}>{url}</Link>
                    {description !== '' && <span className="hint">{description}</span>}
                  </div>
                ),
              },
              { title: t('webhooks.status'), cell: ({ webhookStatus }) => <WebhookStatus status={webhookStatus} /> },
              { title: t('webhooks.eventTypes'), cell: ({ eventTypes }) => <EventTypes types={eventTypes} /> },
              { title: t('webhooks.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
            ]}
          />
        )}
      </ListQuery>
    </Page>
  )
}

function NewWebhook() {
  if (!usePermission('webhook:manage')) return null
  return (
    <Link href="/webhooks/new" className="button primary">
      {t('webhooks.create')}
    </Link>
  )
}
